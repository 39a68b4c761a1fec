package budget

import (
	"time"

	"github.com/trendvidstream/ingest/quota"
)

// Outlook is how much of each pool backfills may spend, today and on any day after it.
type Outlook struct {
	Reserve
	Left map[string]int64 // before the provider's day ends, if nobody else spends

	daily map[string]int64 // on a whole day: what the ceilings leave beside a day of the schedule
	zone  *time.Location
}

// NewOutlook looks at what a report says is used, and at what the schedule needs: what it has reserved of
// today, and the price of a whole day.
func NewOutlook(r quota.Report, reserve Reserve, day Price, t *quota.Tariff) Outlook {
	o := Outlook{Reserve: reserve, Left: map[string]int64{}, daily: map[string]int64{}, zone: t.Zone}
	reports := map[string]quota.PoolReport{}
	for _, p := range r.Pools {
		reports[p.Pool] = p
	}
	for _, pool := range t.Pools {
		o.Left[pool.Name] = leftToday(pool, reports[pool.Name], reserve.Cost[pool.Name], t)
		o.daily[pool.Name] = leftDaily(pool, day.Total[pool.Name], t)
	}
	return o
}

func leftToday(pool quota.Pool, report quota.PoolReport, reserved int64, t *quota.Tariff) int64 {
	if !report.DrainedUntil.IsZero() {
		return 0
	}
	left := int64(quota.MaxLimit)
	for i, w := range pool.Windows {
		n := min(t.Ceilings[quota.Backfill].Of(w.Limit), t.Ceilings[quota.Scheduled].Of(w.Limit)-reserved)
		if i < len(report.Windows) {
			n -= report.Windows[i].Used
		}
		left = min(left, n)
	}
	return max(left, 0)
}

func leftDaily(pool quota.Pool, scheduled int64, t *quota.Tariff) int64 {
	left := int64(quota.MaxLimit)
	for _, w := range pool.Windows {
		if w.Day() || w.Length >= day {
			n := min(t.Ceilings[quota.Backfill].Of(w.Limit), t.Ceilings[quota.Scheduled].Of(w.Limit)) - inWindow(scheduled, w)
			left = min(left, perDay(n, w))
		}
	}
	return max(left, 0)
}

// Days is how many of the provider's days a cost takes, the present one included, where one call draws at
// most perCall. ok is false where the schedule leaves less than a call a day.
func (o Outlook) Days(cost, perCall quota.Cost) (days int, ok bool) {
	days = 1
	for pool, amount := range cost {
		whole := func(n int64) int64 { return n - n%max(perCall[pool], 1) }
		amount -= whole(o.Left[pool])
		if amount <= 0 {
			continue
		}
		daily := whole(o.daily[pool])
		if daily == 0 {
			return 0, false
		}
		days = max(days, 1+int((amount+daily-1)/daily))
	}
	return days, true
}

// Ends is when the last of so many of the provider's days ends, the present one being the first.
func (o Outlook) Ends(days int) time.Time {
	return o.Until.In(o.zone).AddDate(0, 0, days-1).UTC()
}

// Forecast is what the schedule may still spend before the provider's day ends, and whether that is left.
type Forecast struct {
	Until     time.Time
	Scheduled map[string]int64 // at most, per pool
	Fits      bool
}

// Forecast compares the price of the rest of the provider's day with what a report says is left.
func (s Schedule) Forecast(r quota.Report, now time.Time) (Forecast, error) {
	f := Forecast{Until: midnight(now, s.Tariff.Zone), Fits: r.Degraded == nil}
	price, err := s.Price(now, f.Until)
	f.Scheduled = price.Total
	for _, p := range r.Pools {
		if price.Total[p.Pool] > p.Remaining[quota.Scheduled] {
			f.Fits = false
		}
	}
	return f, err
}
