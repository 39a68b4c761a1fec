package budget_test

import (
	"errors"
	"maps"
	"regexp"
	"slices"
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

// A lowered limit refuses the jobs that it leaves no room for, and no others: an uncalled method may have any price.
func TestOnlyAJobThatCallsItIsRefusedACostThatNeverFits(t *testing.T) {
	lowered := func(jobs ...ingest.Job) budget.PricedSchedule {
		s := schedule(t, jobs...)
		for i, p := range s.Tariff.Pools {
			for j := range p.Windows {
				s.Tariff.Pools[i].Windows[j].Limit = 20
			}
		}
		return s
	}
	s := lowered(chart(time.Hour, 1, "US"), refresh())
	if _, err := s.DayPrice(start); err != nil {
		t.Error(err)
	}
	const want = "search.list costs 100 units, and no purpose may use more than 19: it can never be called"
	if got := budget.NeverCalled(s.Tariff); !slices.Contains(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	_, err := lowered(search(24*time.Hour, 1)).DayPrice(start)
	if !errors.Is(err, quota.ErrNeverFits) || !strings.Contains(err.Error(), "search.list costs 100 of units, and purpose scheduled may use 19 of it") {
		t.Error(err)
	}
	if got := budget.NeverCalled(tariff(t, "classic")); len(got) > 0 {
		t.Errorf("of the shipped costs %q, want none", got)
	}
}

// A schedule fits if a backfill that uses all it may leaves enough for a day of it.
func TestAScheduleFitsBesideABackfillAtItsCeiling(t *testing.T) {
	costs := tariff(t, "classic")
	if got := budget.Ceilings(costs, quota.Scheduled); got["units"] != 9500 || got["search"] != 95 {
		t.Errorf("the ceilings are %v, want units 9500 and search 95", got)
	}
	for units, fits := range map[int64]bool{0: true, 1536: true, 2500: true, 2501: false} {
		err := budget.Price{Total: quota.Cost{"units": units}}.Fits(costs)
		if (err == nil) != fits {
			t.Errorf("%d units a day: %v, want %v", units, err, fits)
		}
		if err != nil && (!strings.Contains(err.Error(), "a day of it costs 2,501 units") || !strings.Contains(err.Error(), "9,500 of 10,000")) {
			t.Error(err)
		}
	}
}

func TestThePoolThatLacksMostIsNamed(t *testing.T) {
	for _, tt := range []struct {
		units, search int64
		want          string
	}{{2_600, 288, "costs 288 search calls"}, {95_000, 288, "costs 95,000 units"}} {
		err := budget.Price{Total: quota.Cost{"units": tt.units, "search": tt.search}}.Fits(tariff(t, "split-2026-06"))
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%d units and %d searches a day: got %v, want %s", tt.units, tt.search, err, tt.want)
		}
	}
}

func TestADayOfTheScheduleIsComparedWithWindowsOfADayOrMore(t *testing.T) {
	costs := tariff(t, "classic")
	costs.Pools = []quota.Pool{{Name: "units", Windows: []quota.Window{
		{Name: "1h", Length: time.Hour, Limit: 10}, {Name: "48h", Length: 48 * time.Hour, Limit: 1000},
	}}}
	for units, fits := range map[int64]bool{125: true, 126: false} { // 250 of 1,000 in two days
		if err := (budget.Price{Total: quota.Cost{"units": units}}).Fits(costs); (err == nil) != fits {
			t.Errorf("%d units a day: %v, want %v", units, err, fits)
		}
	}
}

// Windows of a minute, an hour and a month have to let a day of the schedule through, too.
func TestEveryWindowHasToLetTheScheduleThrough(t *testing.T) {
	costs := tariff(t, "classic")
	for _, of := range []struct {
		name   string
		length time.Duration
		limit  int64
		most   int64 // units a day that fit
	}{
		{"1m", time.Minute, 2, 1440},            // 1 a minute is under its ceiling of 95 %
		{"1h", time.Hour, 100, 95 * 24},         // all of them, slots that come at once waiting for an hour
		{"720h", 30 * 24 * time.Hour, 3000, 25}, // 2,850 less the 2,100 of a backfill, in thirty days
	} {
		costs.Pools = []quota.Pool{{Name: "units", Windows: []quota.Window{{Name: of.name, Length: of.length, Limit: of.limit}}}}
		for units, fits := range map[int64]bool{of.most: true, of.most + 1: false} {
			price := budget.Price{Jobs: []budget.JobPrice{{Job: chart(time.Hour, 1, "US"), Slots: 24, Cost: quota.Cost{"units": units}}}, Total: quota.Cost{"units": units}}
			err := price.Fits(costs)
			if (err == nil) != fits || err != nil && (!strings.Contains(err.Error(), "window "+of.name) || !strings.Contains(err.Error(), "every: ")) {
				t.Errorf("window %s, %d units a day: %v", of.name, units, err)
			}
		}
	}
}

// The rest of a minute is not the whole rest of a day.
func TestTheForecastKnowsItsWindows(t *testing.T) {
	s := schedule(t, chart(time.Hour, 1, "US"))
	now := time.Date(2026, 2, 15, 5, 10, 0, 0, time.UTC) // three slots before the day turns, at 08:00
	for _, of := range []struct {
		length      time.Duration
		limit, used int64
		fits        bool
	}{
		{time.Minute, 2, 1, true},
		{time.Hour, 2, 0, true},             // one at once, one from 06:10, one from 07:10
		{time.Hour, 2, 1, true},             // none at once, one from 06:10, which is soon enough
		{2 * time.Hour, 2, 1, false},        // one comes again at 07:10
		{24 * time.Hour, 10, 6, true},       // nine of ten
		{24 * time.Hour, 10, 7, false},      //
		{30 * 24 * time.Hour, 10, 7, false}, //
		{0, 10, 6, true}, {0, 10, 7, false}, // the provider's day
	} {
		w := quota.WindowState{Window: quota.Window{Name: "w", Length: of.length, Limit: of.limit}, Used: of.used}
		r := quota.Report{Pools: []quota.PoolReport{{Pool: "units", Windows: []quota.WindowState{w}}}}
		if f, err := s.Forecast(r, budget.PacedSchedule{}, nil, now); err != nil || f.Fits != of.fits {
			t.Errorf("%v: %+v, %v, want %v", of, f, err, of.fits)
		}
		r.Pools[0].DrainedUntil = now.Add(2 * time.Hour)
		if f, err := s.Forecast(r, budget.PacedSchedule{}, nil, now); err != nil || f.Fits {
			t.Errorf("%v, drained: %+v, %v", of, f, err)
		}
	}
}

func TestTheForecastIsThePriceOfTheRestOfTheProvidersDay(t *testing.T) {
	s := schedule(t, chart(time.Hour, 1, "US")) // on the hour
	now := time.Date(2026, 2, 15, 5, 10, 0, 0, time.UTC)
	for left, fits := range map[int64]bool{3: true, 2: false} {
		day := quota.WindowState{Window: quota.Window{Name: "day", Limit: 10000}, Used: 9500 - left}
		r := quota.Report{Pools: []quota.PoolReport{{Pool: "units", Windows: []quota.WindowState{day}}}}
		f, err := s.Forecast(r, budget.PacedSchedule{}, nil, now)
		if err != nil || f.Fits != fits || f.Scheduled["units"] != 3 || !f.Until.Equal(time.Date(2026, 2, 15, 8, 0, 0, 0, time.UTC)) {
			t.Errorf("with %d left: %+v, %v", left, f, err)
		}
	}
	if f, err := s.Forecast(quota.Report{Degraded: quota.ErrUnavailable}, budget.PacedSchedule{}, nil, now); err != nil || f.Fits {
		t.Errorf("without a ledger: %+v, %v", f, err)
	}
}

// The error of a schedule that does not fit names the interval that would.
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
	named := regexp.MustCompile(`every: [0-9hms]+`)
	for limit := int64(100); limit < 2500; limit += 7 { // two intervals are named only if they differ
		s := limited(t, limit, chart(30*time.Minute, 4, regions.Default()...))
		if price, err = s.DayPrice(start); err != nil {
			t.Fatal(err)
		}
		if err := price.Fits(s.Tariff); err != nil {
			if all := named.FindAllString(err.Error(), -1); len(slices.Compact(slices.Clone(all))) != len(all) {
				t.Errorf("at %d units: %v", limit, err)
			}
		}
	}
}
