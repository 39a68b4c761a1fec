//go:build unix

package fetch_test

import (
	"syscall"
	"testing"
	"time"
)

// cpuTime returns the CPU time that this process has used, which does not depend on other processes.
func cpuTime(t testing.TB) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
