package main_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/internal/youtubesim"
)

// besideASchedule starts a stand-in with 100 units a day, where the schedule may use 95 and backfills 70, and
// configures a schedule of three regions. The test owns the clock.
func besideASchedule(t *testing.T, every string, now *time.Time) *youtubesim.Server {
	t.Helper()
	sim := standIn(t, youtubesim.Options{Seed: 5, Limits: map[string]int64{"units": 100}, Now: func() time.Time { return *now }})
	configured(t, fmt.Sprintf("jobs: [{name: chart, kind: chart, regions: [US, GB, DE], every: %s, pages: 3}]\n", every))
	t.Setenv("INGEST_COSTS", limits(t, "100"))
	t.Setenv("INGEST_NOW", now.Format(time.RFC3339))
	return sim
}

// A schedule that spends 72 of 95 units a day leaves 23 a day to a backfill, which the schedule does not count against
// the backfill's own ceiling of 70: it ends when the plan said, and neither the schedule nor the upstream loses
// anything.
func TestLongABackfillBesideAScheduleThatSpendsItsShareEnds(t *testing.T) {
	now := time.Date(2026, 2, 14, 8, 5, 0, 0, time.UTC) // five minutes into the provider's day
	sim := besideASchedule(t, "3h", &now)
	start, planned, ended := now, backfillDocument{}, time.Time{}
	for ; now.Before(start.Add(7 * 24 * time.Hour)); now = now.Add(time.Hour) {
		t.Setenv("INGEST_NOW", now.Format(time.RFC3339))
		run := ingestJSON[runDocument](t, exitOK, "run")
		for _, slot := range run.Regions {
			if slot.Outcome != ingest.Done || slot.Pages != 3 {
				t.Errorf("%v: %s %s with %d pages: %s, want %v and 3", now, slot.Region, slot.Outcome, slot.Pages, slot.Reason, ingest.Done)
			}
		}
		if run.Pacing != "" {
			t.Errorf("%v: the backfill has stretched the schedule: %s, want no pacing", now, run.Pacing)
		}
		if now.Sub(start) == 24*time.Hour { // the schedule has its usual share of every window
			planned = ingestJSON[backfillDocument](t, exitOK, "backfill", "plan", "videos", someIDs(t, 30*50))
		}
		if planned.ID == "" {
			continue
		}
		if code, _ := ingestAny("backfill", "run", planned.ID, "--yes"); code == exitOK {
			ended = now
			break
		} else if code != exitStopped {
			t.Fatalf("%v: exit %d, want %v", now, code, exitStopped)
		}
	}
	l := sim.Ledger()
	if planned.Days == nil || ended.IsZero() || ended.After(*planned.EndsAt) || l.Refused["units"] > 0 {
		t.Errorf("planned for %+v days until %v, ended at %v; the upstream refused %v", planned.Days, planned.EndsAt, ended, l.Refused)
	}
	used := ingestJSON[quotaDocument](t, exitOK, "quota").Pools
	units := used[slices.IndexFunc(used, func(p poolDocument) bool { return p.Pool == "units" })]
	if most := sim.MaxInWindow("units", 24*time.Hour); most > 95 || units.Windows[0].Used < 72 {
		t.Errorf("%d units in 24 hours by the upstream's count, %d by the ledger's, want at most 95 and at least 72", most, units.Windows[0].Used)
	}
	t.Logf("30 units beside 72 of 95 a day: planned for %+v days, ended after %v", planned.Days, ended.Sub(start.Add(24*time.Hour)))
}

// If the schedule leaves nothing for a backfill, planning refuses it, names the change that would help, and stores
// nothing.
func TestABackfillThatCanNeverEndIsRefused(t *testing.T) {
	now := time.Date(2026, 2, 14, 8, 5, 0, 0, time.UTC)
	besideASchedule(t, "2h", &now) // 108 units a day
	ids := someIDs(t, 100*50)
	_, said := ingestCode(t, exitConfig, "backfill", "plan", "videos", ids)
	for _, want := range []string{"can never fit", "every:", "fewer pages or regions", "ceilings.scheduled"} {
		if !strings.Contains(said, want) {
			t.Errorf("%q is not in: %s", want, said)
		}
	}
	if _, said := ingestCode(t, exitConfig, "backfill", "run", "videos", ids, "--yes"); !strings.Contains(said, "can never fit") {
		t.Error(said)
	}
	doc := ingestJSON[struct{ Backfills []backfillDocument }](t, exitOK, "backfill", "status")
	for _, b := range doc.Backfills {
		if b.Outcome != ingest.Skipped {
			t.Errorf("%s is %s, want %v", b.ID, b.Outcome, ingest.Skipped)
		}
	}
}

// A plan that was kept, and no longer fits, is not to be run as it is.
func TestAPlanThatNoLongerFitsAdvisesNoRun(t *testing.T) {
	now := time.Date(2026, 2, 14, 8, 5, 0, 0, time.UTC)
	besideASchedule(t, "3h", &now)
	planned := ingestJSON[backfillDocument](t, exitOK, "backfill", "plan", "videos", someIDs(t, 50))
	t.Setenv("INGEST_COSTS", limits(t, "50")) // the schedule needs 72
	if out, _ := ingestCode(t, exitOK, "backfill", "status", planned.ID); !strings.Contains(out, "next: ingest backfill run "+planned.ID+", once it fits") {
		t.Error(out)
	}
}
