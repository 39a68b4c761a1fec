//go:build unix

package store_test

import (
	"syscall"
	"testing"
	"time"
)

// cpuTime returns the CPU time of this process, which does not grow while other processes wait as well.
func cpuTime(t testing.TB) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
