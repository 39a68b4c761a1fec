package main_test

import (
	"bytes"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/trendvidstream/ingest/internal/youtubesim"
)

// A signal in the middle of a pass ends it within five seconds, with the signal's code, and the next run loses and
// doubles nothing.
func TestASignalEndsARunCleanly(t *testing.T) {
	for signal, code := range map[syscall.Signal]int{syscall.SIGTERM: 143, syscall.SIGINT: 130} {
		sim, slow := slowStandIn(t)
		at(t, "2026-02-14T09:40:00Z")
		var stderr bytes.Buffer
		cmd := exec.Command(self(t), "run", "--quiet")
		cmd.Stderr = &stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		for len(sim.Log()) < 6 {
			time.Sleep(5 * time.Millisecond) // the test needs a real process
		}
		began := time.Now()
		if err := cmd.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		if took := time.Since(began); cmd.ProcessState.ExitCode() != code || took > stopsWithin {
			t.Errorf("%v: exit %d after %v, want %d\n%s", signal, cmd.ProcessState.ExitCode(), took, code, stderr.String())
		}
		slow.Store(0)
		ingestJSON[runDocument](t, exitOK, "run")
		sameCount(t, sim)
		if n := sim.Ledger().Units["units"]; n != 32 {
			t.Errorf("%v: %d pages were fetched in all, want 32", signal, n)
		}
	}
}

// slowStandIn takes a while over each answer, so that a signal comes in the middle of a pass, until slow is set to 0.
func slowStandIn(t *testing.T) (sim *youtubesim.Server, slow *atomic.Int64) {
	t.Helper()
	sim, slow = standIn(t, youtubesim.Options{Seed: 5}), new(atomic.Int64)
	slow.Store(int64(100 * time.Millisecond))
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer := httptest.NewRecorder()
		sim.ServeHTTP(answer, r)
		time.Sleep(time.Duration(slow.Load()))
		maps.Copy(w.Header(), answer.Header())
		w.WriteHeader(answer.Code)
		_, _ = w.Write(answer.Body.Bytes()) // the caller may have gone
	}))
	t.Cleanup(front.Close)
	t.Setenv("INGEST_UPSTREAM_URL", front.URL+"/")
	return sim, slow
}

// self is this test's program, as testscript puts it on the path of its scripts.
func self(t *testing.T) string {
	t.Helper()
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		if path := filepath.Join(dir, "ingest"); isFile(path) {
			return path
		}
	}
	t.Fatalf("ingest is not on the path of the tests: %s", os.Getenv("PATH"))
	return ""
}
