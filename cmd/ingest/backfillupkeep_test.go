//go:build unix

package main_test

import (
	"cmp"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/trendvidstream/ingest/internal/youtubesim"
)

// A plan's predictions come true: the refresh that begins on day 25 costs the predicted units, and a video that is
// not found again is kept until the day it named, and deleted by then, or kept if the plan says so.
func TestLongAPlansPredictionsComeTrue(t *testing.T) {
	start := time.Date(2026, 2, 14, 9, 40, 0, 0, time.UTC)
	const refreshed = "jobs: [{name: refresh, kind: refresh, every: 24h}]\n"
	for _, c := range []struct {
		name, jobs string
		flags      []string
		refreshed  int64 // how often
		kept       int
	}{
		{"with a refresh job", refreshed, nil, 1, 0},
		{"without one", "jobs: [{name: chart, kind: chart, regions: [US], every: 24h, pages: 1}]\n", nil, 0, 0},
		{"kept fresh", refreshed, []string{"--keep-fresh"}, 2, 120},
		{"let go", refreshed, []string{"--let-go"}, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newLoggedStandIn(t, youtubesim.Options{Seed: 7, Crowd: 120}, start)
			configured(t, c.jobs)
			at(t, start.Format(time.RFC3339))
			ids := filepath.Join(t.TempDir(), "ids.txt")
			if err := os.WriteFile(ids, []byte(strings.Join(w.Crowd(), "\n")), 0o600); err != nil {
				t.Fatal(err)
			}
			later := ingestJSON[backfillDocument](t, exitOK, append([]string{"backfill", "plan", "videos", ids}, c.flags...)...).Upkeep
			last := cmp.Or(later.DeletedAfter, 56)
			runJSON(t, exitOK, "bf-1", "--yes")
			kept := func() (n int) {
				stored := storedIDs(t, "videos")
				for _, id := range w.Crowd() {
					n += stored[id]
				}
				return n
			}
			lookups := int64(0)
			for day := 1; day <= last+1; day++ {
				now := start.AddDate(0, 0, day).Add(time.Duration(day) * time.Minute) // videos that a slow run got late, a day's run a minute earlier would miss
				w.move(now)
				at(t, now.Format(time.RFC3339))
				before := len(w.log)
				ingestAny("run", "--quiet")
				for _, call := range w.log[before:] {
					if len(call.ids) > 0 && call.path == "/youtube/v3/videos" {
						lookups++
					}
				}
				if day == last-2 && kept() != 120 {
					t.Errorf("on day %d %d of 120 are left; the plan said day %d", day, kept(), last)
				}
			}
			if n := kept(); n != c.kept {
				t.Errorf("after day %d %d of 120 are left, want %d", last, n, c.kept)
			}
			if c.refreshed > 0 != (lookups > 0) || lookups != c.refreshed*later.RefreshUnits.High || lookups != c.refreshed*later.RefreshUnits.Low {
				t.Errorf("it was refreshed for %d units; the plan said %+v", lookups, later)
			}
		})
	}
}
