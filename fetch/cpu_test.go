//go:build unix

package fetch_test

import (
	"syscall"
	"testing"
	"time"
)

// cpuTime is what this process has used, which is what it takes where other processes wait for it too.
func cpuTime(t testing.TB) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
