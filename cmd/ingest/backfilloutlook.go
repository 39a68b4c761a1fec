package main

import (
	"time"

	"github.com/trendvidstream/ingest/quota"
)

// outlook is how much of each pool backfills may spend, today and on any day after it.
type outlook struct {
	reserve
	left  map[string]int64 // before the provider's day ends, if nobody else spends
	daily map[string]int64 // on a whole day: what the ceilings leave beside a day of the schedule
}

// outlookOf looks at what is used, and at what the schedule wants: still today, and on a whole day.
func outlookOf(r quota.Report, n reserve, day quota.Cost, tariff *quota.Tariff) outlook {
	o := outlook{reserve: n, left: map[string]int64{}, daily: map[string]int64{}}
	used := map[string]quota.PoolReport{}
	for _, p := range r.Pools {
		used[p.Pool] = p
	}
	for _, pool := range tariff.Pools {
		left, daily := int64(quota.MaxLimit), int64(quota.MaxLimit)
		for i, w := range pool.Windows {
			own, scheduled := tariff.Ceilings[quota.Backfill].Of(w.Limit), tariff.Ceilings[quota.Scheduled].Of(w.Limit)
			today := min(own, scheduled-n.cost[pool.Name])
			if p := used[pool.Name]; i < len(p.Windows) {
				today -= p.Windows[i].Used
			}
			left = min(left, max(today, 0))
			if most := min(own, scheduled) - inWindow(day[pool.Name], w); w.Day() || w.Length >= 24*time.Hour {
				daily = min(daily, max(perDay(most, w), 0))
			}
		}
		if !used[pool.Name].DrainedUntil.IsZero() {
			left = 0
		}
		o.left[pool.Name], o.daily[pool.Name] = left, daily
	}
	return o
}

// inWindow is what a day's amount comes to in a window.
func inWindow(amount int64, w quota.Window) int64 {
	if w.Day() {
		return amount
	}
	return int64(float64(amount) * w.Length.Hours() / 24)
}

func perDay(amount int64, w quota.Window) int64 {
	if w.Day() {
		return amount
	}
	return int64(float64(amount) / w.Length.Hours() * 24)
}

// days is how many of the provider's days so much takes, the present one included, where a call draws so
// much at most; ok is false where the schedule leaves less than a call a day.
func (o outlook) days(cost, call quota.Cost) (days int, ok bool) {
	days = 1
	for pool, amount := range cost {
		whole := func(n int64) int64 { return n - n%max(call[pool], 1) }
		amount -= whole(o.left[pool])
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

// ends is when the last of so many days of the provider's ends, that which o looks at being the first.
func (o outlook) ends(days int, zone *time.Location) time.Time {
	return o.until.In(zone).AddDate(0, 0, days-1).UTC()
}
