package main_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/internal/youtubesim"
)

// A chart that the upstream does not have costs one call a day for its region and category, not one per slot: the slots
// between are skipped, and say why. Other categories of the region are requested as usual.
func TestAChartThatIsNotThereIsAskedForOnceADay(t *testing.T) {
	begin := at(t, "2026-02-14T08:10:00Z")
	sim := standIn(t, youtubesim.Options{Seed: 2, Faults: faultsOf(t, "nochart@1-2")})
	jobs := func(list string) { configured(t, "jobs: ["+list+"]\n") }
	const music = "{name: music, kind: chart, regions: [US, DE], every: 1h, pages: 1, category: 10}"
	const whole = ", {name: whole, kind: chart, regions: [US], every: 24h, pages: 1}"
	jobs(music)

	// hour runs the slots due that long after the first run, and requires the given number of calls and this outcome
	// of the music slots.
	hour := func(after time.Duration, calls int, music ingest.State) {
		t.Helper()
		now := begin.Add(after)
		at(t, now.Format(time.RFC3339))
		before := len(sim.Log())
		run := ingestJSON[runDocument](t, exitOK, "run")
		if made := len(sim.Log()) - before; made != calls || run.Units != int64(calls) {
			t.Errorf("after %v: %d calls and %d units, want %d", after, made, run.Units, calls)
		}
		seen := 0
		for _, slot := range run.Regions {
			if slot.Job != "music" {
				continue
			}
			seen++
			if slot.Outcome != music || slot.Outcome == ingest.Skipped && !strings.Contains(slot.Reason, "no such chart") {
				t.Errorf("after %v: %s of %s is %s: %q, want %s", after, slot.Job, slot.Region, slot.Outcome, slot.Reason, music)
			}
		}
		if seen != 2 {
			t.Errorf("after %v: %d slots of music, want 2", after, seen)
		}
	}
	hour(0, 2, ingest.Skipped)
	for n := 1; n <= 23; n++ {
		if n == 3 {
			jobs(music + whole)
			hour(3*time.Hour, 1, ingest.Skipped)
			jobs(music)
			continue
		}
		hour(time.Duration(n)*time.Hour, 0, ingest.Skipped)
	}
	sameCount(t, sim) // a skipped slot draws nothing
	hour(24*time.Hour+time.Minute, 2, ingest.Done)
	hour(25*time.Hour, 2, ingest.Done)
	t.Logf("a chart that is not there: %d calls in 25 hours for 26 slots each of 2 regions, and 1 for another category", len(sim.Log()))
}

// A chart that was there an hour ago and is not there once is asked for again an hour later, not a day later; if it is
// not there then either, once a day.
func TestAChartThatWasThereIsAskedForAgainAnHourLater(t *testing.T) {
	begin := at(t, "2026-02-14T08:10:00Z")
	sim := standIn(t, youtubesim.Options{Seed: 2, Faults: faultsOf(t, "nochart@2", "nochart@4-5")})
	configured(t, "jobs: [{name: chart, kind: chart, regions: [US], every: 1h, pages: 1}]\n")
	calls := ""
	for n := range 9 {
		at(t, begin.Add(time.Duration(n)*time.Hour).Format(time.RFC3339))
		before := len(sim.Log())
		slots := ingestJSON[runDocument](t, exitOK, "run").Regions
		if len(slots) != 1 {
			t.Fatalf("hour %d: %d slots, want 1", n, len(slots))
		}
		calls += fmt.Sprintf("%d %s, ", len(sim.Log())-before, slots[0].Outcome)
	}
	const want = "1 done, 1 skipped, 1 done, 1 skipped, 1 skipped, 0 skipped, 0 skipped, 0 skipped, 0 skipped, "
	if calls != want {
		t.Errorf("calls and outcomes by the hour: %s\nwant %s", calls, want)
	}
	sameCount(t, sim)
}
