package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/trendvidstream/ingest/internal/youtubesim"
)

// A signal in the middle of a pass: out within five seconds, with the signal's code, and the next run
// loses and doubles nothing.
func TestASignalEndsARunCleanly(t *testing.T) {
	for signal, code := range map[syscall.Signal]int{syscall.SIGTERM: 143, syscall.SIGINT: 130} {
		sim := standIn(t, youtubesim.Options{Seed: 5, Latency: 150 * time.Millisecond})
		at(t, "2026-02-14T09:40:00Z")
		var stderr bytes.Buffer
		cmd := exec.Command(self(t), "run", "--quiet")
		cmd.Stderr = &stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		for len(sim.Log()) < 6 {
			time.Sleep(5 * time.Millisecond) // a real process is what is tested
		}
		began := time.Now()
		if err := cmd.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		if took := time.Since(began); cmd.ProcessState.ExitCode() != code || took > stopsWithin {
			t.Errorf("%v: exit %d after %v, want %d\n%s", signal, cmd.ProcessState.ExitCode(), took, code, stderr.String())
		}
		ingestJSON[runDocument](t, exitOK, "run")
		sameCount(t, sim)
		if n := sim.Ledger().Units["units"]; n != 32 {
			t.Errorf("%v: %d pages were fetched in all, want 32", signal, n)
		}
	}
}

// self is this test's program, as testscript puts it on the path of its scripts.
func self(t *testing.T) string {
	t.Helper()
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		if path := filepath.Join(dir, "ingest"); isFile(path) {
			return path
		}
	}
	t.Fatal("ingest is not on the path of the tests")
	return ""
}
