package budget_test

import (
	"errors"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/fetch"
	"github.com/trendvidstream/ingest/fetch/dailymotion"
	"github.com/trendvidstream/ingest/fetch/youtube"
	"github.com/trendvidstream/ingest/internal/budget"
	"github.com/trendvidstream/ingest/quota"
)

func callCosts(t *testing.T, kind ingest.BackfillKind) budget.CallCosts {
	t.Helper()
	costs, err := budget.BackfillCalls(kind, &youtube.Client{}, tariff(t, "classic"))
	if err != nil {
		t.Fatal(err)
	}
	return costs
}

func TestABackfillIsPricedByItsCalls(t *testing.T) {
	units := func(n int64) quota.Cost { return quota.Cost{"units": n} }
	for _, c := range []struct {
		name      string
		kind      ingest.BackfillKind
		size      budget.Size
		low, high quota.Cost
	}{
		{"nothing", ingest.BackfillVideos, budget.Size{}, units(0), units(0)},
		{"20,000 pieces of ids are 20,000 calls", ingest.BackfillVideos, budget.Size{Pieces: 20_000}, units(20_000), units(20_000)},
		{"what is old too", ingest.BackfillRefresh, budget.Size{Pieces: 3}, units(3), units(3)},
		{"a channel of unknown size", ingest.BackfillUploads, budget.Size{Pieces: 1}, units(3), units(801)},
		{"channels that were asked", ingest.BackfillUploads, budget.Size{Pieces: 3, Channels: []int{50, 51, 0}}, units(3 + 5 + 2), units(3 + 5 + 2)},
		{"a channel that does not exist", ingest.BackfillUploads, budget.Size{Pieces: 1, Channels: []int{budget.NoChannel}}, units(1), units(1)},
		{"one asked of two", ingest.BackfillUploads, budget.Size{Pieces: 2, Channels: []int{100}}, units(5 + 3), units(5 + 801)},
		{"a channel of a million", ingest.BackfillUploads, budget.Size{Pieces: 1, Channels: []int{1_000_000}}, units(801), units(801)},
		{"searches", ingest.BackfillSearch, budget.Size{Pieces: 5}, quota.Cost{"units": 5 * 101, "search": 5}, quota.Cost{"units": 5 * 1010, "search": 50}},
	} {
		if e := callCosts(t, c.kind).Estimate(c.size); !maps.Equal(e.Low.Cost, c.low) || !maps.Equal(e.High.Cost, c.high) {
			t.Errorf("%s: %v to %v, want %v to %v", c.name, e.Low, e.High, c.low, c.high)
		}
	}
}

func TestABackfillThatTheUpstreamCannotMakeIsRefused(t *testing.T) {
	costs, err := quota.ParseCosts("costs.yaml", ingest.Costs, "dailymotion", "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := budget.BackfillCalls(ingest.BackfillUploads, &dailymotion.Client{}, costs); !errors.Is(err, fetch.ErrNoUploads) {
		t.Error(err)
	}
}

// Once some of a backfill is done, it predicts the rest better than the plan's assumptions.
func TestTheRestLikelyCostsAsMuchAsTheDonePart(t *testing.T) {
	e := budget.Estimate{Low: budget.Bill{Units: 101}, High: budget.Bill{Units: 5050}}
	for _, c := range []struct {
		name       string
		e          budget.Estimate
		spent      int64
		done, open int
		want       int64
	}{
		{"five more at 202", e, 404, 2, 5, 1010},
		{"no less than the least", e, 2, 2, 5, 101},
		{"no more than the most", e, 10_000, 1, 5, 5050},
		{"nothing is done yet", e, 0, 0, 5, 0},
		{"nothing is left", e, 404, 2, 0, 0},
		{"it is known", budget.Estimate{Low: budget.Bill{Units: 5}, High: budget.Bill{Units: 5}}, 4, 4, 5, 0},
	} {
		if got := c.e.Likely(c.spent, c.done, c.open); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}

// outlook returns one under the shipped costs, with the given amount used and reserved, and the price of a day.
func outlook(t *testing.T, used24, usedDay, reserved, day int64) budget.Outlook {
	t.Helper()
	until := time.Date(2026, 11, 22, 8, 0, 0, 0, time.UTC)
	costs, r := tariff(t, "classic"), quota.Report{At: until.Add(-8 * time.Hour)}
	for _, p := range costs.Pools {
		report := quota.PoolReport{Pool: p.Name}
		for _, w := range p.Windows {
			n := used24
			if w.Day() {
				n = usedDay
			}
			if p.Name != "units" {
				n = 0
			}
			report.Windows = append(report.Windows, quota.WindowState{Window: w, Used: n})
		}
		r.Pools = append(r.Pools, report)
	}
	return budget.NewOutlook(r, quota.Reserve{Until: until, Today: quota.Cost{"units": reserved}}, budget.Price{Total: quota.Cost{"units": day}}, costs)
}

func TestTheOutlookIsThePartThatCeilingsAndScheduleLeave(t *testing.T) {
	for _, c := range []struct {
		name             string
		used24, usedDay  int64
		reserved         int64
		left, leftSearch int64
	}{
		{"an unused day", 0, 0, 0, 7000, 70},
		{"its own ceiling is what holds", 100, 50, 1500, 6900, 70},
		{"the schedule's need holds", 4000, 4000, 5000, 500, 70},
		{"nothing is left", 9000, 0, 0, 0, 70},
		{"a schedule that needs it all", 0, 0, 9500, 0, 70},
	} {
		o := outlook(t, c.used24, c.usedDay, c.reserved, 1536)
		if o.Left["units"] != c.left || o.Left["search"] != c.leftSearch {
			t.Errorf("%s: %d left, %d searches, want %d, %d", c.name, o.Left["units"], o.Left["search"], c.left, c.leftSearch)
		}
	}
	r := quota.Report{At: start, Pools: []quota.PoolReport{{Pool: "units"}}}
	for _, p := range tariff(t, "classic").Pools {
		for _, w := range p.Windows {
			if state := (quota.WindowState{Window: w, Used: 9000}); p.Name == "units" && !w.Day() {
				state.Returns = []quota.Return{{At: start.Add(time.Hour), Amount: 3500}, {At: start.Add(23 * time.Hour), Amount: 5500}}
				r.Pools[0].Windows = append(r.Pools[0].Windows, state)
			} else if p.Name == "units" {
				r.Pools[0].Windows = append(r.Pools[0].Windows, quota.WindowState{Window: w})
			}
		}
	}
	reserve := quota.Reserve{Until: start.Add(5 * time.Hour), Today: quota.Cost{"units": 500}}
	if o := budget.NewOutlook(r, reserve, budget.Price{}, tariff(t, "classic")); o.Left["units"] != 1000 {
		t.Errorf("of 9,000 used, 3,500 come back before the day ends, and the schedule takes 500: %d are left of 7,000, want 1000", o.Left["units"])
	}
	drained := quota.Report{At: start.Add(-time.Hour), Pools: []quota.PoolReport{{Pool: "units", DrainedUntil: start}}}
	if o := budget.NewOutlook(drained, quota.Reserve{Until: start}, budget.Price{}, tariff(t, "classic")); o.Left["units"] != 0 || o.Left["search"] == 0 {
		t.Errorf("of a pool that the provider closed %v is left", o.Left)
	}
}

func TestTheDaysABackfillTakes(t *testing.T) {
	o := outlook(t, 0, 0, 0, 4036) // 7,000 units today, 5,464 on any other day; 70 searches
	for _, c := range []struct {
		units, searches int64
		kind            ingest.BackfillKind
		days            int
	}{
		{0, 0, ingest.BackfillVideos, 1},
		{7000, 0, ingest.BackfillVideos, 1},
		{7001, 0, ingest.BackfillVideos, 2},
		{7000 + 2*5464, 0, ingest.BackfillVideos, 3},
		{7000, 70, ingest.BackfillSearch, 1},
		{7000, 71, ingest.BackfillSearch, 2},
		{12_401, 70, ingest.BackfillSearch, 3}, // 54 searches a day, not 54.64
	} {
		cost := quota.Cost{"units": c.units, "search": c.searches}
		if got, ok := o.Days(cost, callCosts(t, c.kind).PerCall()); !ok || got != c.days {
			t.Errorf("%d units, %d searches: %d days, want %d", c.units, c.searches, got, c.days)
		}
	}
	if end := o.Ends(3); !end.Equal(time.Date(2026, 11, 24, 8, 0, 0, 0, time.UTC)) {
		t.Errorf("three days end at %v", end)
	}
	for scheduled, want := range map[int64]bool{6000: true, 9499: true, 9500: false} {
		o := outlook(t, 0, 0, 9500, scheduled) // nothing is left today
		if _, ok := o.Days(quota.Cost{"units": 1}, quota.Cost{"units": 1}); ok != want {
			t.Errorf("beside %d units a day for the schedule: ok is %v, want %v", scheduled, ok, want)
		}
		if err := o.Never(quota.Cost{"units": 1}, quota.Cost{"units": 1}); (err == nil) != want ||
			err != nil && (!errors.Is(err, quota.ErrNeverFits) || !strings.Contains(err.Error(), "costs 1 of pool units")) {
			t.Errorf("beside %d units a day for the schedule: %v", scheduled, err)
		}
	}
}
