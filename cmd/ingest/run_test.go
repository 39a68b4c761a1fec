package main_test

import (
	"strings"
	"testing"
	"time"

	"github.com/trendvidstream/ingest"
	program "github.com/trendvidstream/ingest/cmd/ingest"
	"github.com/trendvidstream/ingest/internal/term"
)

// A reason that several regions share is printed once, in lines that fit.
func TestARunsOutputFitsATerminal(t *testing.T) {
	due := time.Date(2026, 2, 14, 9, 0, 0, 0, time.UTC)
	const why = "units: the provider said no at 21 used; most by scheduled AU videos.list (4 in 24h); frees at 2026-02-15T08:00:00Z"
	slot := func(kind ingest.Kind, job, key string, state ingest.State, pages, videos int, units int64, reason string) ingest.SlotResult {
		return ingest.SlotResult{Spent: units, Slot: ingest.Slot{
			SlotKey: ingest.SlotKey{Job: job, Key: key, DueAt: due}, Kind: kind, State: state, Pages: pages, Videos: videos, Reason: reason, RetryAt: due,
		}}
	}
	worked := []ingest.SlotResult{
		slot(ingest.KindChart, "chart", "IN", ingest.Done, 1, 1, 1, "of which nobody asks"),
		slot(ingest.KindChart, "chart", "GB", ingest.Stopped, 3, 150, 3, why),
		slot(ingest.KindChart, "chart", "DE", ingest.Failed, 0, 0, 1, "the upstream is \x1b[31mbroken"),
		slot(ingest.KindChart, "chart", "FR", ingest.Stopped, 0, 0, 0, why),
		slot(ingest.KindSearch, "a-search-with-a-name-longer-than-a-column", "US", ingest.Stopped, 0, 0, 100, why),
		slot(ingest.KindRefresh, "refresh", "", ingest.Stopped, 0, 12000, 0, "units: 19 of 19 used"),
	}
	var out strings.Builder
	program.PrintRun(&out, worked)
	want := `
chart       IN  2026-02-14 09:00:00Z  done     1 page   1 video        1 unit
chart       GB  2026-02-14 09:00:00Z  stopped  3 pages  150 videos     3 units
chart       DE  2026-02-14 09:00:00Z  failed   0 pages  0 videos       1 unit
chart       FR  2026-02-14 09:00:00Z  stopped  0 pages  0 videos       0 units
a-search-…  US  2026-02-14 09:00:00Z  stopped  0 pages  0 videos       100 units
refresh         2026-02-14 09:00:00Z  stopped  0 pages  12,000 videos  0 units
stopped GB, FR, a-search-with-a-name-longer-than-a-column US: units: the
  provider said no at 21 used; most by scheduled AU videos.list (4 in 24h);
  frees at 2026-02-15T08:00:00Z
failed DE: the upstream is [31mbroken
stopped refresh: units: 19 of 19 used
`
	if out.String() != want[1:] {
		t.Errorf("it says\n%s\nwant\n%s", out.String(), want[1:])
	}
	for line := range strings.Lines(out.String()) {
		if n := term.Width(strings.TrimSuffix(line, "\n")); n > term.Screen {
			t.Errorf("%d columns: %s, want at most %v", n, line, term.Screen)
		}
	}
}

func TestAClaimedSlotSaysUntilWhenItsClaimLasts(t *testing.T) {
	lease := time.Date(2026, 2, 14, 9, 3, 0, 1, time.UTC)
	slot := ingest.Slot{Owner: "host/7/x", Lease: lease}
	for at, want := range map[time.Time]string{
		lease.Add(-1): "by host/7/x; if it died, free again at 2026-02-14 09:03:01Z",
		lease:         "by host/7/x, which has died: free since 2026-02-14 09:03:00Z",
	} {
		if got := program.ClaimedByText(slot, at); got != want {
			t.Errorf("at %s it is %q, want %q", at, got, want)
		}
	}
}
