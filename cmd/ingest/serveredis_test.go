package main

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/trendvidstream/ingest/internal/youtubesim"
)

// redisAt starts a redis-server that forgets when it ends, at a port, and returns how to end it.
func redisAt(t *testing.T, port string) (stop func()) {
	t.Helper()
	path := os.Getenv("REDIS_SERVER")
	if path == "" {
		var err error
		if path, err = exec.LookPath("redis-server"); err != nil {
			t.Skipf("redis-server absent: install it, or set REDIS_SERVER: %v", err)
		}
	}
	cmd := exec.Command(path, "--port", port, "--bind", "127.0.0.1", "--save", "", "--dir", t.TempDir())
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	stop = func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	t.Cleanup(stop)
	return stop
}

// The ledger is down at the start, comes, and is lost: serve lives through it all, and takes up its work.
func TestServeLivesThroughALedgerThatComesAndGoes(t *testing.T) {
	sim := standIn(t, youtubesim.Options{Seed: 5})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(l.Addr().String())
	_ = l.Close()
	config := filepath.Join(t.TempDir(), "ingest.yaml")
	if err := os.WriteFile(config, []byte("jobs: [{name: chart, kind: chart, every: 720h}]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	quickHeart(t)
	d := startServe(t, "--config", config, "--ledger", "redis://127.0.0.1:"+port+"/0")
	d.until("it knows that the ledger is down", func() bool { return strings.HasPrefix(d.check("ledger").Detail, "degraded") })
	stop := redisAt(t, port)
	d.until("the ledger is there", d.isReady)
	stop()
	d.until("it knows that the ledger is gone", func() bool { return !d.isReady() })
	redisAt(t, port)
	d.until("it knows the ledger that has forgotten", d.isReady)
	// Nothing was taken since: the look itself has told the new ledger what the old one knew.
	d.until("it is told what was spent", func() bool { return strings.Contains(d.check("ledger").Detail, "9,468 units left") })
	d.end(syscall.SIGTERM)
	if n := sim.Ledger().Units["units"]; n != 32 {
		t.Errorf("%d units, want 32", n)
	}
}
