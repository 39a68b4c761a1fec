package simulation_test

import (
	"log/slog"
	"testing"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/internal/budget"
	"github.com/trendvidstream/ingest/regions"
)

// Charted videos are priced before a day by the number that the newest slot counted. That price is within 2 % of the
// day's cost by the stand-in's count.
func TestChartedVideosCostTheirPrice(t *testing.T) {
	o := observe(t, []int{0}, 0, nil)
	o.step = 30 * time.Minute
	chart := ingest.Job{Name: "chart", Kind: ingest.KindChart, Regions: regions.Default()[:2], Every: time.Hour, Pages: 2}
	o.schedule(chart, ingest.Job{Name: "mine", Kind: ingest.KindVideos, Charted: 12 * time.Hour, Every: time.Hour})
	o.until(14 * time.Hour)
	report, err := o.governor.Report(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	watch := budget.OthersWatch{Notes: o.store, Schedule: o.plan, Log: slog.New(slog.DiscardHandler)}
	price, err := o.plan.With(watch.Expect(t.Context(), report)).DayPrice(o.clock())
	if err != nil {
		t.Fatal(err)
	}
	before := o.up.Ledger().Units["batch_stats"]
	o.until(38 * time.Hour)
	within(t, "charted videos", price.Total["batch_stats"], o.up.Ledger().Units["batch_stats"]-before)
}

// chartsBeside runs charts of eight regions under 600 units, beside 40 channels at that interval or, at 0, alone
// under that limit. It returns the charts' mean age, and the interval that the schedule pays for.
func chartsBeside(t *testing.T, limit int64, every time.Duration) (age, interval time.Duration) {
	t.Helper()
	perDay := make([]int, 40)
	o := observe(t, perDay, limit, nil)
	o.step = 15 * time.Minute
	jobs := []ingest.Job{{Name: "chart", Kind: ingest.KindChart, Regions: regions.Default(), Every: 30 * time.Minute, Pages: 1}}
	if every > 0 {
		channels := uploadsJob(o.up, len(perDay))
		channels.Every = every
		jobs = append(jobs, channels)
	}
	o.schedule(jobs...)
	o.until(24 * time.Hour) // the channels' first slots cost more
	o.aged, o.ages = 0, 0
	o.until(48 * time.Hour)
	intervals, err := o.plan.Intervals(o.start)
	if err != nil {
		t.Fatal(err)
	}
	return o.age(), intervals["chart"]
}

// Forty channels every hour want more than 600 units pay for, so that charts and channels are stretched alike. From
// their second day on, the charts' age is within 5 % of the age of the same charts alone, with the units of their
// share.
func TestLongChartsBesideChannelsAreAsFreshAsTheirShare(t *testing.T) {
	shared, interval := chartsBeside(t, 600, time.Hour)
	paid := int64(8*float64(24*time.Hour)/float64(interval)/0.95 + 0.5)
	alone, _ := chartsBeside(t, paid, 0)
	t.Logf("beside hourly channels charts are due every %v and %v old on average; alone under %d units %v", interval, shared, paid, alone)
	if shared > alone*105/100 {
		t.Errorf("charts are %v old, want at most 5 %% over %v", shared, alone)
	}
}
