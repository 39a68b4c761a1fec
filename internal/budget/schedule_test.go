package budget_test

import (
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/internal/budget"
	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/regions"
)

var start = time.Date(2026, 2, 14, 9, 40, 0, 0, time.UTC)

func TestADayOfAScheduleIsPricedByItsCalls(t *testing.T) {
	for _, tt := range []struct {
		name string
		jobs []ingest.Job
		want quota.Cost
	}{
		{"none", nil, quota.Cost{}},
		{"the default chart", []ingest.Job{chart(30*time.Minute, 4, regions.Default()...)}, quota.Cost{"units": 8 * 4 * 48}},
		{"a search of two pages, each looked up", []ingest.Job{search(6*time.Hour, 2)}, quota.Cost{"units": 4 * 2 * 101, "search": 4 * 2}},
		{"a refresh costs what is stored", []ingest.Job{refresh()}, quota.Cost{}},
		{"several", []ingest.Job{chart(time.Hour, 1, "US"), search(24*time.Hour, 1), refresh()}, quota.Cost{"units": 24 + 101, "search": 1}},
	} {
		price, err := schedule(t, tt.jobs...).DayPrice(start)
		if err != nil || !maps.Equal(price.Total, tt.want) {
			t.Errorf("%s: %v, %v, want %v", tt.name, price.Total, err, tt.want)
		}
		sum := quota.Cost{}
		for _, j := range price.Jobs {
			for pool, amount := range j.Cost {
				sum[pool] += amount
			}
		}
		if len(price.Jobs) != len(tt.jobs) || !maps.Equal(sum, price.Total) {
			t.Errorf("%s: the jobs %+v do not add up to %v", tt.name, price.Jobs, price.Total)
		}
	}
}

func TestAMethodWithoutAPriceIsAnErrorThatNamesTheJob(t *testing.T) {
	s := schedule(t, chart(time.Hour, 1, "US"))
	delete(s.Tariff.Methods, "videos.list")
	if _, err := s.DayPrice(start); err == nil || !strings.Contains(err.Error(), "price job chart: ") {
		t.Error(err)
	}
}

// A schedule fits where a backfill that uses all it may leaves enough for a day of it.
func TestAScheduleFitsBesideABackfillAtItsCeiling(t *testing.T) {
	costs := tariff(t)
	if got := budget.Ceilings(costs); got["units"] != 9500 || got["search"] != 95 {
		t.Errorf("the ceilings are %v", got)
	}
	for units, fits := range map[int64]bool{0: true, 1536: true, 2500: true, 2501: false} {
		err := budget.Price{Total: quota.Cost{"units": units}}.Fits(costs)
		if (err == nil) != fits {
			t.Errorf("%d units a day: %v", units, err)
		}
		if err != nil && (!strings.Contains(err.Error(), "a day of it costs 2501 units") || !strings.Contains(err.Error(), "9500 of 10000")) {
			t.Error(err)
		}
	}
}

func TestADayOfTheScheduleIsComparedWithWindowsOfADayOrMore(t *testing.T) {
	costs := tariff(t)
	costs.Pools = []quota.Pool{{Name: "units", Windows: []quota.Window{
		{Name: "1h", Length: time.Hour, Limit: 10}, {Name: "48h", Length: 48 * time.Hour, Limit: 1000},
	}}}
	for units, fits := range map[int64]bool{125: true, 126: false} { // 250 of 1,000 in two days
		if err := (budget.Price{Total: quota.Cost{"units": units}}).Fits(costs); (err == nil) != fits {
			t.Errorf("%d units a day: %v", units, err)
		}
	}
}

func TestTheForecastIsThePriceOfTheRestOfTheProvidersDay(t *testing.T) {
	s := schedule(t, chart(time.Hour, 1, "US")) // on the hour
	now := time.Date(2026, 2, 15, 5, 10, 0, 0, time.UTC)
	for left, fits := range map[int64]bool{3: true, 2: false} {
		r := quota.Report{Pools: []quota.PoolReport{{Pool: "units", Remaining: map[quota.Purpose]int64{quota.Scheduled: left}}}}
		f, err := s.Forecast(r, now)
		if err != nil || f.Fits != fits || f.Scheduled["units"] != 3 || !f.Until.Equal(time.Date(2026, 2, 15, 8, 0, 0, 0, time.UTC)) {
			t.Errorf("with %d left: %+v, %v", left, f, err)
		}
	}
	if f, err := s.Forecast(quota.Report{Degraded: quota.ErrUnavailable}, now); err != nil || f.Fits {
		t.Errorf("without a ledger: %+v, %v", f, err)
	}
}

// A schedule that does not fit is told the interval that would.
func TestTheIntervalThatFitsIsNamed(t *testing.T) {
	s := limited(t, 300, chart(30*time.Minute, 4, regions.Default()...))
	price, err := s.DayPrice(start)
	if err != nil {
		t.Fatal(err)
	}
	const want = "fetch less often (every: 10h15m fits, or every: 2h45m where no backfill runs)"
	if err := price.Fits(s.Tariff); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %q", err, want)
	}
}
