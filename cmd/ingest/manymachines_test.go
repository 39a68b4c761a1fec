//go:build unix

package main_test

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/trendvidstream/ingest/internal/faulty"
	"github.com/trendvidstream/ingest/internal/report"
	"github.com/trendvidstream/ingest/internal/youtubesim"
)

// Three machines have one PostgreSQL and nothing else in common. They share the charts, one of them leaves in the
// middle, and the ledger's count equals the calls that arrived upstream, each chart once.
func TestLongManyMachinesShareOnePostgres(t *testing.T) {
	d := faulty.Postgres(t)
	sim := standIn(t, youtubesim.Options{Seed: 5, Latency: 100 * time.Millisecond})
	configured(t, "jobs: [{name: chart, kind: chart, every: 24h, pages: 4}]\n") // no tick falls into the test
	t.Setenv("INGEST_STORE", d.URL())
	t.Setenv("INGEST_LEDGER", d.URL())
	var machines []*served
	for _, name := range []string{"a", "b", "c"} {
		machines = append(machines, startProcess(t, "serve", "--workers", "1", "--data", filepath.Join(t.TempDir(), name)))
	}
	first := machines[0]
	first.until("the first charts come in", func() bool { return len(sim.Log()) >= 4 })
	first.end(syscall.SIGTERM)
	ended := func() (done int) {
		for _, s := range ingestJSON[struct{ Slots []report.SlotDocument }](t, exitOK, "slots").Slots {
			if s.Outcome == "done" && s.Job == "chart" {
				done++
			}
		}
		return done
	}
	machines[1].until("all charts are there", func() bool { return ended() == 8 })
	shared := 0
	for _, m := range machines[1:] {
		m.end(syscall.SIGTERM)
		if strings.Contains(m.stderr.String(), "msg=slot job=chart") {
			shared++
		}
		if strings.Contains(strings.ToLower(m.stderr.String()), "river") {
			t.Errorf("the engine's own news is in the log:\n%s", m.stderr.String())
		}
	}
	if n := sim.Ledger().Units["units"]; n != 32 || shared != 2 {
		t.Errorf("%d units for eight charts of four pages, %d of the two that stayed took part, want 32 and 2", n, shared)
		for _, c := range sim.Log() {
			t.Logf("%s %s %s %q: %d", c.At.Format(time.StampMilli), c.Method, c.Region, c.PageToken, c.Status)
		}
	}
	for _, pool := range ingestJSON[quotaDocument](t, exitOK, "quota").Pools {
		for _, w := range pool.Windows {
			if arrived := sim.Ledger().Units[pool.Pool]; w.Used != arrived {
				t.Errorf("pool %s, window %s: %d used by the ledger, %d arrived upstream", pool.Pool, w.Window, w.Used, arrived)
			}
		}
	}
}
