package main_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	program "github.com/trendvidstream/ingest/cmd/ingest"
	"github.com/trendvidstream/ingest/internal/youtubesim"
)

// A served status page runs no more statements for a full store than for one with a single round of charts: its parts are
// read whole, not region by region, slot by slot or backfill by backfill.
func TestAServedStatusPageTakesFewStatements(t *testing.T) {
	standIn(t, youtubesim.Options{Now: func() time.Time { return time.Date(2026, 2, 14, 12, 0, 0, 0, time.UTC) }})
	configured(t, "jobs: [{name: chart, kind: chart, every: 30m, pages: 1}, {name: refresh, kind: refresh, every: 24h}]\n")
	fetch := func(now string) {
		t.Helper()
		at(t, now)
		ingestCode(t, exitOK, "run", "--quiet")
	}
	cost := func(tiles int) int64 {
		t.Helper()
		page, statements, err := program.StatusPage(t.Context())
		if got := strings.Count(page, `href="/charts/`); err != nil || got < tiles {
			t.Fatalf("%v, and the page links to %d charts:\n%.2000s", err, got, page)
		}
		return statements
	}
	fetch("2026-02-14T12:00:00Z")
	once := cost(8)
	ingestCode(t, exitOK, "backfill", "plan", "search", "news", "--from", "2026-02-01", "--to", "2026-02-10")
	backfill := cost(8)
	for n := range 6 {
		fetch(fmt.Sprintf("2026-02-14T%02d:%02d:00Z", 12+(n+1)/2, 30*((n+1)%2)))
	}
	for _, query := range []string{"cats", "dogs"} {
		ingestCode(t, exitOK, "backfill", "plan", "search", query, "--from", "2026-02-01", "--to", "2026-02-10")
	}
	full := cost(8)
	t.Logf("a status page: %d statements after one round of charts, %d with a backfill, %d after seven rounds with three", once, backfill, full)
	if most := int64(20); full > backfill || full > most {
		t.Errorf("a status page of a full store takes %d statements, with one round of charts and one backfill %d, want at most that and %d", full, backfill, most)
	}
}
