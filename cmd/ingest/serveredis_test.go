//go:build unix

package main_test

import (
	"strings"
	"syscall"
	"testing"

	"github.com/trendvidstream/ingest/internal/faulty"
	"github.com/trendvidstream/ingest/internal/youtubesim"
)

// The ledger is down at the start, comes, and is lost: serve survives it all, and resumes its work.
func TestLongServeLivesThroughALedgerThatComesAndGoes(t *testing.T) {
	sim := standIn(t, youtubesim.Options{Seed: 5})
	redis := faulty.Redis(t)
	redis.Kill()
	configured(t, "jobs: [{name: chart, kind: chart, every: 720h}]\n")
	quickHeart(t)
	d := startServe(t, "--ledger", "redis://"+redis.Addr()+"/0")
	d.until("it knows that the ledger is down", func() bool { return strings.HasPrefix(d.check("ledger").Detail, "degraded") })
	redis.Restart()
	d.until("the ledger is there", d.isReady)
	redis.Kill()
	d.until("it knows that the ledger is gone", func() bool { return !d.isReady() })
	redis.Restart()
	d.until("it knows the ledger that has forgotten", d.isReady)
	// Nothing was taken since: the check itself has posted the old one's knowledge to the new ledger.
	d.until("what was spent is synced, and when that was asked", func() bool {
		said := d.check("ledger").Detail
		return strings.Contains(said, "9,468 units left, ") && strings.HasSuffix(said, "s ago")
	})
	d.end(syscall.SIGTERM)
	if n := sim.Ledger().Units["units"]; n != 32 {
		t.Errorf("%d units, want 32", n)
	}
}
