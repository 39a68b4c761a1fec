package report_test

import (
	"slices"
	"testing"
	"time"

	"github.com/trendvidstream/ingest/internal/budget"
	"github.com/trendvidstream/ingest/internal/report"
	"github.com/trendvidstream/ingest/quota"
)

// noon is when the reports of these tests are made.
var noon = time.Date(2026, 2, 14, 12, 0, 0, 0, time.UTC)

func scheduledMay(use int64) map[quota.Purpose]int64 {
	return map[quota.Purpose]int64{quota.Scheduled: use}
}

func TestOneSentenceSaysWhetherTheQuotaLasts(t *testing.T) {
	doc := func(remaining, scheduled int64) report.QuotaDocument {
		return report.QuotaDocument{
			Pools: []report.PoolDocument{{
				Pool: "units", Windows: []report.WindowDocument{{Window: "day", Zone: "America/Los_Angeles"}},
				Purposes: []report.PurposeDocument{{Purpose: quota.Scheduled, Ceiling: 9500, Remaining: remaining}, {Purpose: quota.Manual, Ceiling: 9950, Remaining: remaining + 450}},
			}},
			Forecast: budget.Forecast{Until: noon.Add(20 * time.Hour), Scheduled: map[string]int64{"units": scheduled}, Spare: map[string]int64{"units": remaining - scheduled}, Fits: scheduled <= remaining},
		}
	}
	var next []report.NextDocument
	for i, region := range []string{"US", "GB", "FR", "IN", "BR", "AU", "US"} {
		next = append(next, report.NextDocument{Job: "chart", Region: region, DueAt: noon.Add(time.Duration(i) * 10 * time.Minute), Cost: map[string]int64{"units": 4}})
	}
	drained, degraded, idle := doc(0, 28), doc(0, 28), doc(100, 0)
	drained.Pools[0].DrainedUntil = new(noon.Add(20 * time.Hour))
	degraded.Degraded, degraded.EmergencyLeft = true, []report.EmergencyDocument{{Pool: "units", Remaining: 18}}
	idle.Forecast.Scheduled = nil
	paced := doc(100, 1536)
	paced.Forecast.Pacing = "chart paced to every 2 h 48 m: 285 units in the day that ends 08:00Z"
	over := doc(0, 1536)
	over.Forecast.Pacing, over.Pools[0].Purposes[0].ResumesAt = paced.Forecast.Pacing, new(noon.Add(21*time.Hour))
	tests := []struct {
		name string
		doc  report.QuotaDocument
		next []report.NextDocument
		want string
	}{
		{"to spare", doc(1488, 28), next, "The quota lasts until midnight in Los Angeles: 1,460 units to spare."},
		{"exactly enough", doc(28, 28), next, "The quota lasts until midnight in Los Angeles: 0 units to spare."},
		{"one is left", doc(29, 28), next, "The quota lasts until midnight in Los Angeles: 1 unit to spare."},
		{"the last two go without", doc(23, 28), next, "The quota runs out at 12:50Z: AU and US go without until midnight in Los Angeles."},
		{"nothing is left", doc(3, 28), next, "The quota runs out at 12:00Z: US, GB, FR and 3 more go without until midnight in Los Angeles."},
		{"the price of the slots is not known", doc(3, 28), nil, "Too little quota is left: the schedule needs more until midnight in Los Angeles."},
		{"paced", paced, next, "The quota lasts until midnight in Los Angeles at a slower pace: chart paced to every 2 h 48 m: 285 units in the day that ends 08:00Z."},
		{"paced, and nothing is left now", over, nil, "Quota is used up until 2026-02-15 09:00:00Z; then at a slower pace: chart paced to every 2 h 48 m: 285 units in the day that ends 08:00Z."},
		{"the provider refused", drained, next, "Quota is used up until 2026-02-15 08:00:00Z: the provider says that no units are left."},
		{"the ledger is down", degraded, next, "The ledger cannot answer: cheap calls go on from the emergency budget (18 units left), expensive ones wait."},
		{"nothing is scheduled", idle, nil, "The quota lasts until midnight in Los Angeles: the schedule draws nothing that is counted."},
	}
	for _, tt := range tests {
		if got := report.OutlookSentence(tt.doc, tt.next); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

// Yesterday's spends leave a sliding window today: until midnight nobody has to wait.
func TestASlidingWindowGivesBackBeforeMidnight(t *testing.T) {
	d := report.QuotaDocument{At: noon, Forecast: budget.Forecast{Until: noon.Add(20 * time.Hour), Scheduled: map[string]int64{"units": 12}}, Pools: []report.PoolDocument{{
		Pool: "units", Limit: 100, Windows: []report.WindowDocument{
			{Window: "24h", Limit: 100, Ceilings: scheduledMay(95), Used: 90, NextFreeAt: new(noon.Add(time.Hour))},
			{Window: "day", Limit: 100, Ceilings: scheduledMay(95), Used: 10, Zone: "America/Los_Angeles", ResetsAt: new(noon.Add(20 * time.Hour))},
		},
		Purposes: []report.PurposeDocument{{Purpose: quota.Scheduled, Ceiling: 95, Remaining: 5}},
	}}}
	slot := func(region string, after time.Duration) report.NextDocument {
		return report.NextDocument{Job: "chart", Region: region, DueAt: noon.Add(after), Cost: map[string]int64{"units": 4}}
	}
	next := []report.NextDocument{slot("US", time.Minute), slot("GB", 10*time.Minute), slot("GB", 2*time.Hour)}
	if got, want := report.OutlookSentence(d, next), "The quota runs out at 12:10Z: GB waits for units, which come back from 2026-02-14 13:00:00Z on."; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := report.Verdicts(d, next), []string{"fits", "does not fit", "fits if enough comes back by then"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	// The ledger knows exactly when the next call is admitted, if nothing is left.
	d.Pools[0].Windows[0].Used, d.Pools[0].Purposes[0].Remaining, d.Pools[0].Purposes[0].ResumesAt = 95, 0, new(noon.Add(90*time.Minute))
	if got, want := report.OutlookSentence(d, next), "The quota runs out at 12:01Z: US and GB wait for units, which come back from 2026-02-14 13:30:00Z on."; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	// Of the provider's day nothing is left either: until its midnight nothing comes back.
	d.Pools[0].Windows[1].Used = 95
	if got, want := report.OutlookSentence(d, next), "The quota runs out at 12:01Z: US and GB go without until midnight in Los Angeles."; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestASlotThatFitsDrawsItsPrice: a refused slot leaves its part to a cheaper one after it.
func TestASlotThatFitsDrawsItsPrice(t *testing.T) {
	slot := func(n int64) report.NextDocument { return report.NextDocument{Cost: map[string]int64{"units": n}} }
	d := report.QuotaDocument{Pools: []report.PoolDocument{{Pool: "units", Purposes: []report.PurposeDocument{{Purpose: quota.Scheduled, Remaining: 10}}}}}
	got := report.Fitting(d, []report.NextDocument{slot(4), slot(7), slot(4), slot(3), slot(2), {}})
	for i, want := range []bool{true, false, true, false, true, true} {
		if got[i] != want {
			t.Errorf("slot %d: fits %v, want %v", i, got[i], want)
		}
	}
}

// What is left of a minute's window is not all that is left until midnight: a short window renews.
func TestAWindowOfAMinuteComesAgain(t *testing.T) {
	d := report.QuotaDocument{At: noon, Forecast: budget.Forecast{Until: noon.Add(time.Hour), Scheduled: map[string]int64{"units": 84}, Spare: map[string]int64{"units": 6}, Fits: true}, Pools: []report.PoolDocument{{
		Pool: "units", Limit: 60, Windows: []report.WindowDocument{{Window: "1m", Limit: 60, Ceilings: scheduledMay(57), Used: 57}, {Window: "24h", Limit: 200, Ceilings: scheduledMay(190), Used: 100}},
		Purposes: []report.PurposeDocument{{Purpose: quota.Scheduled, Ceiling: 57, Remaining: 0}},
	}}}
	slot := func(after time.Duration, units int64) report.NextDocument {
		return report.NextDocument{Job: "chart", DueAt: noon.Add(after), Cost: map[string]int64{"units": units}}
	}
	got := report.Fitting(d, []report.NextDocument{slot(time.Second, 4), slot(2*time.Minute, 40), slot(10*time.Minute, 40), slot(11*time.Minute, 40)})
	if want := []bool{false, true, true, false}; !slices.Equal(got, want) { // 190 of 200 may be used in 24 hours
		t.Errorf("%v fit, want %v", got, want)
	}
	if got := report.OutlookSentence(d, nil); got != "The quota lasts until midnight: 6 units to spare." {
		t.Error(got)
	}
}

// 3 % of 50 is 1, and of 1,000 it is 30: what the smaller window rounds away is not lost to the larger one.
func TestEachWindowRoundsItsOwnCeiling(t *testing.T) {
	tariff := &quota.Tariff{Zone: time.UTC, Ceilings: map[quota.Purpose]quota.Share{}}
	for _, purpose := range quota.Purposes() {
		tariff.Ceilings[purpose] = 30_000
	}
	d := report.NewQuotaDocument(quota.Report{At: noon, Pools: []quota.PoolReport{{
		Pool: "units", Limit: 50, Ceilings: map[quota.Purpose]int64{quota.Scheduled: 1}, Remaining: map[quota.Purpose]int64{quota.Scheduled: 1},
		Windows: []quota.WindowState{{Window: quota.Window{Name: "1m", Length: time.Minute, Limit: 50}}, {Window: quota.Window{Name: "day", Limit: 1000}}},
	}}}, tariff, budget.Forecast{Until: noon.Add(time.Hour)})
	slot := report.NextDocument{Job: "chart", DueAt: noon.Add(50 * time.Minute), Cost: map[string]int64{"units": 24}}
	if got := report.Fitting(d, []report.NextDocument{slot}); !got[0] {
		t.Error("24 units do not fit into the 30 that the day allows")
	}
}
