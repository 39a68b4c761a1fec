package main

import (
	"maps"
	"testing"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/fetch/youtube"
	"github.com/trendvidstream/ingest/quota"
)

// classicTolls are what the calls cost under the classic table.
func classicTolls(kind ingest.BackfillKind) tolls {
	one, search := quota.Cost{"units": 1}, quota.Cost{"units": 100, "search": 1}
	switch kind {
	case ingest.BackfillUploads:
		return tolls{limits: (&youtube.Client{}).Limits(), find: one, page: one, look: one}
	case ingest.BackfillSearch:
		return tolls{limits: (&youtube.Client{}).Limits(), page: search, look: one}
	}
	return tolls{limits: (&youtube.Client{}).Limits(), look: one}
}

func TestABackfillIsPricedByItsCalls(t *testing.T) {
	units := func(n int64) quota.Cost { return quota.Cost{"units": n} }
	for _, c := range []struct {
		name      string
		kind      ingest.BackfillKind
		size      size
		low, high quota.Cost
		assumes   bool
	}{
		{"nothing", ingest.BackfillVideos, size{}, units(0), units(0), false},
		{"20,000 pieces of ids are 20,000 calls", ingest.BackfillVideos, size{pieces: 20_000}, units(20_000), units(20_000), false},
		{"what is old too", ingest.BackfillRefresh, size{pieces: 3}, units(3), units(3), false},
		{"a channel of unknown size", ingest.BackfillUploads, size{pieces: 1}, units(3), units(801), true},
		{"channels that were asked", ingest.BackfillUploads, size{pieces: 3, sizes: []int{50, 51, 0}}, units(3 + 5 + 2), units(3 + 5 + 2), false},
		{"a channel that does not exist", ingest.BackfillUploads, size{pieces: 1, sizes: []int{noChannel}}, units(1), units(1), false},
		{"one asked of two", ingest.BackfillUploads, size{pieces: 2, sizes: []int{100}}, units(5 + 3), units(5 + 801), true},
		{"a channel of a million", ingest.BackfillUploads, size{pieces: 1, sizes: []int{1_000_000}}, units(801), units(801), false},
		{"searches", ingest.BackfillSearch, size{pieces: 5}, quota.Cost{"units": 5 * 101, "search": 5}, quota.Cost{"units": 5 * 1010, "search": 50}, true},
	} {
		p := classicTolls(c.kind).price(c.kind, c.size)
		if !maps.Equal(p.low, c.low) || !maps.Equal(p.high, c.high) || (p.assuming != "") != c.assumes {
			t.Errorf("%s: %v to %v, assuming %q, want %v to %v", c.name, p.low, p.high, p.assuming, c.low, c.high)
		}
	}
}

func TestSlicesCoverTheSpanOnce(t *testing.T) {
	from := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		span, each time.Duration
		n          int
	}{
		{7 * fullDay, 7 * fullDay, 1},
		{7*fullDay + time.Second, 7 * fullDay, 2},
		{30 * fullDay, 7 * fullDay, 5},
		{time.Second, time.Hour, 1},
		{100 * time.Second, 7 * time.Second, 15},
	} {
		pieces := timeSlices(from, from.Add(c.span), c.each)
		at := from
		for _, p := range pieces {
			if !p.Spec.After.Equal(at) || !p.Spec.Before.After(at) || p.Spec.Before.Sub(at) > c.each {
				t.Errorf("%v by %v: a slice from %v to %v behind %v", c.span, c.each, p.Spec.After, p.Spec.Before, at)
			}
			at = p.Spec.Before
		}
		if len(pieces) != c.n || !at.Equal(from.Add(c.span)) {
			t.Errorf("%v by %v: %d slices until %v", c.span, c.each, len(pieces), at)
		}
	}
}

// outlookIn is the outlook under the shipped costs, with so much used and kept, and a day of the schedule.
func outlookIn(t *testing.T, used24, usedDay, kept, day int64) outlook {
	t.Helper()
	tariff, err := quota.ParseCosts("costs.yaml", ingest.Costs, "youtube", "")
	if err != nil {
		t.Fatal(err)
	}
	r := quota.Report{}
	for _, p := range tariff.Pools {
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
	until := time.Date(2026, 11, 22, 8, 0, 0, 0, time.UTC)
	return outlookOf(r, reserve{until: until, cost: quota.Cost{"units": kept}}, quota.Cost{"units": day}, tariff)
}

func TestTheOutlookIsWhatCeilingsAndScheduleLeave(t *testing.T) {
	for _, c := range []struct {
		name                    string
		used24, usedDay         int64
		kept, day               int64
		left, daily, leftSearch int64
	}{
		{"an unused day", 0, 0, 0, 0, 7000, 7000, 70},
		{"its own ceiling is what holds", 100, 50, 1500, 1536, 6900, 5464, 70},
		{"the schedule's need holds", 4000, 4000, 5000, 1536, 500, 5464, 70},
		{"nothing is left", 9000, 0, 0, 1536, 0, 5464, 70},
		{"a schedule that needs it all", 0, 0, 9500, 9500, 0, 0, 70},
	} {
		o := outlookIn(t, c.used24, c.usedDay, c.kept, c.day)
		if o.left["units"] != c.left || o.daily["units"] != c.daily || o.left["search"] != c.leftSearch {
			t.Errorf("%s: %d left, %d a day, %d searches, want %d, %d, %d", c.name, o.left["units"], o.daily["units"], o.left["search"], c.left, c.daily, c.leftSearch)
		}
	}
}

func TestTheDaysABackfillTakes(t *testing.T) {
	o := outlookIn(t, 0, 0, 0, 1536) // 7,000 units today, 5,464 on any other day; 70 searches
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
		if got, ok := o.days(cost, classicTolls(c.kind).dearest()); !ok || got != c.days {
			t.Errorf("%d units, %d searches: %d days, want %d", c.units, c.searches, got, c.days)
		}
	}
	zone, err := time.LoadLocation("America/Los_Angeles")
	if err != nil {
		t.Fatal(err)
	}
	if end := o.ends(3, zone); !end.Equal(time.Date(2026, 11, 24, 8, 0, 0, 0, time.UTC)) {
		t.Errorf("three days end at %v", end)
	}
	if _, ok := outlookIn(t, 0, 0, 9500, 9500).days(quota.Cost{"units": 1}, quota.Cost{"units": 1}); ok {
		t.Error("a backfill that never fits takes days")
	}
}
