package report_test

import (
	"testing"
	"time"

	"github.com/trendvidstream/ingest/internal/budget"
	"github.com/trendvidstream/ingest/internal/report"
	"github.com/trendvidstream/ingest/quota"
)

// noon is when the reports of these tests are made.
var noon = time.Date(2026, 2, 14, 12, 0, 0, 0, time.UTC)

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
		next = append(next, report.NextDocument{Job: "chart", Region: region, DueAt: noon.Add(time.Duration(i) * 10 * time.Minute), Cost: map[string]int64{"units": 4}, Fits: i < 5})
	}
	drained, idle := doc(0, 28), doc(100, 0)
	drained.Pools[0].DrainedUntil = new(noon.Add(20 * time.Hour))
	idle.Forecast.Scheduled = nil
	paced := doc(100, 1536)
	paced.Forecast.Pacing = "chart every 2 h 48 m instead of 30 m: 60 units left in the day that ends 08:00Z"
	paced.Forecast.State = budget.Slower
	unsure := doc(100, 1536)
	unsure.Forecast.Pacing, unsure.Forecast.State, unsure.Forecast.SureUntil = paced.Forecast.Pacing, budget.Slower, noon.Add(5*time.Hour)
	over, runsOut, later, spent, unknown := doc(0, 1536), doc(20, 28), doc(20, 28), doc(3, 28), doc(3, 28)
	over.Forecast.Pacing, over.Forecast.State, over.Forecast.BackAt = paced.Forecast.Pacing, budget.UsedUp, noon.Add(21*time.Hour)
	runsOut.Forecast.State, runsOut.Forecast.RunsOutAt, runsOut.Forecast.BackAt = budget.RunsOut, noon.Add(50*time.Minute), noon.Add(21*time.Hour)
	later.Forecast.State, later.Forecast.RunsOutAt, later.Forecast.BackAt = budget.RunsOut, noon.Add(50*time.Minute), noon.Add(90*time.Minute)
	spent.Forecast.State, spent.Forecast.BackAt = budget.UsedUp, noon.Add(time.Hour)
	unknown.Forecast.State = budget.Short
	tests := []struct {
		name string
		doc  report.QuotaDocument
		next []report.NextDocument
		want string
	}{
		{"to spare", doc(1488, 28), next, "The quota lasts until midnight in Los Angeles: 1,460 units to spare."},
		{"exactly enough", doc(28, 28), next, "The quota lasts until midnight in Los Angeles: 0 units to spare."},
		{"one is left", doc(29, 28), next, "The quota lasts until midnight in Los Angeles: 1 unit to spare."},
		{"the last two go without", runsOut, next, "The quota runs out at 12:50Z: AU and US go without until midnight in Los Angeles."},
		{"they wait for a sliding window", later, next, "The quota runs out at 12:50Z: AU and US wait for units, which come back from 2026-02-14 13:30:00Z on."},
		{"nothing is left", spent, next, "Quota is used up until 2026-02-14 13:00:00Z."},
		{"the price of the slots is not known", unknown, nil, "Too little quota is left: the schedule needs more until midnight in Los Angeles."},
		{"paced", paced, next, "The quota lasts until midnight in Los Angeles at a slower pace: chart every 2 h 48 m instead of 30 m: 60 units left in the day that ends 08:00Z."},
		{"paced, after the provider has refused once", unsure, next, "The quota lasts until midnight in Los Angeles at a slower pace, or until the provider refuses (possible from 17:00Z on): " + paced.Forecast.Pacing + "."},
		{"paced, and nothing is left now", over, nil, "Quota is used up until 2026-02-15 09:00:00Z; then a slower pace: chart every 2 h 48 m instead of 30 m: 60 units left in the day that ends 08:00Z."},
		{"the provider refused", drained, next, "Quota is used up until 2026-02-15 08:00:00Z: the provider says that no units are left."},
		{"nothing is scheduled", idle, nil, "The quota lasts until midnight in Los Angeles: the schedule spends none of it."},
	}
	for _, tt := range tests {
		if got := report.ForecastSentence(tt.doc, tt.next); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}
