package quotatest

import (
	"fmt"
	"time"

	"github.com/trendvidstream/ingest/quota"
)

var retryAfter = []Case{
	{ID: "C1", Name: "retry-after is exact for every cost", check: func(r *rig) {
		// 3, 1, 4, 1, 1 at five odd moments; the cost decides which entry must leave.
		for cost := int64(1); cost <= 10; cost++ {
			r.fresh(noon, per(10*second, 10))
			for _, amount := range []int64{3, 1, 4, 1, 1} {
				r.take(amount)
				r.pass(1234567 * time.Microsecond)
			}
			r.exact(r.take(cost), charge("units", cost, r.bounds...))
		}
	}},
	{ID: "C1", Name: "retry-after is exact for days, ceilings, drains and grace", check: exactEverywhere},
	{ID: "C2", Name: "of several windows that refuse, the latest decides", check: func(r *rig) {
		short, long := per(10*second, 4), per(time.Minute, 6)
		for _, bounds := range [][]quota.Bound{{short, long}, {long, short}} {
			r.fresh(noon, bounds...)
			r.admits(3, 1)
			r.pass(20 * second)
			r.admits(3, 0)
			r.pass(second)
			r.retries(2, 39*second, "1m0s") // the short one frees after 9 s
			r.pass(39 * second)
			r.admits(2, 1)
		}
		units, search := []quota.Bound{per(10*second, 1)}, []quota.Bound{per(time.Minute, 1)}
		for _, c := range [][]quota.Charge{
			{charge("units", 1, units...), charge("search", 1, search...)},
			{charge("search", 1, search...), charge("units", 1, units...)},
		} {
			r.fresh(noon)
			r.draw(c...)
			if d := r.draw(c...); d.RetryAfter != time.Minute || d.Refusal.Pool != "search" {
				r.Fatalf("two pools refuse for 10 s and 1 min: retry after %v because of %v, want %v and \"search\"",
					d.RetryAfter, d.Refusal, time.Minute)
			}
		}
	}},
	{ID: "C3", Name: "retry-after is at least 1 ms, at most the longest window, and 0 when admitted", check: func(r *rig) {
		r.bounds = []quota.Bound{per(10*second, 10), per(time.Minute, 20), daily(100)}
		for step := range 600 { // try reads every answer
			r.take(int64(step % 11))
			r.pass(time.Duration(step%7)*177*time.Millisecond + time.Duration(step%3)*time.Microsecond)
		}
		r.fresh(noon, per(second, 1))
		r.admits(1, 0)
		r.clock.Set(noon.Add(second - time.Microsecond))
		r.retries(1, time.Millisecond, "1s")
	}},
}

// exactEverywhere tries all starts, graces, windows and costs, and a drain.
func exactEverywhere(r *rig) {
	for _, start := range []time.Time{noon,
		time.Date(2026, 11, 1, 6, 59, 50, 0, time.UTC), // 10 s before the day of 25 hours
		time.Date(2027, 3, 14, 7, 59, 50, 0, time.UTC), // 10 s before the day of 23 hours
		time.Date(2026, 11, 2, 7, 0, 0, 0, time.UTC),   // 24 h into the day of 25
	} {
		for _, grace := range []time.Duration{0, 30 * second} {
			for _, bounds := range [][]quota.Bound{
				{daily(10)},
				{per(24*time.Hour, 10), daily(10)},
				{under(daily(10), 7), under(per(time.Hour, 9), 6)},
				{per(second, 5), per(time.Minute, 8), daily(12)},
			} {
				for cost := int64(1); cost <= 5; cost += 2 {
					r.zone, r.grace = pacific, grace
					r.fresh(start, bounds...)
					c := charge("units", cost, bounds...)
					for _, gap := range []time.Duration{second / 3, 7 * second, 20 * second, time.Hour} {
						for range 20 { // more than any of them admits
							if !r.draw(charge("units", 2, bounds...)).Allowed {
								break
							}
							r.pass(gap)
						}
						if d := r.draw(c); !d.Allowed {
							r.exact(d, c)
						}
					}
					until := r.clock.Now().Add(2*time.Hour + 333*time.Microsecond)
					if err := r.ledger.Drain(r.Context(), r.account, "units", quota.Drain{Until: until, Used: 5}); err != nil {
						r.Fatal(err)
					}
					d := r.draw(c)
					if d.Allowed || d.Pools[0].Remaining != 0 {
						r.Fatalf("%s: drained, and %+v", r.at(), d)
					}
					r.exact(d, c)
				}
			}
		}
	}
}

var peeking = []Case{
	{ID: "D1", Name: "peeking changes nothing", check: func(r *rig) {
		r.bounds = []quota.Bound{per(10*second, 5), daily(8)}
		r.admits(3, 2)
		first := fmt.Sprintf("%+v", r.take(0))
		for range 20 {
			if again := fmt.Sprintf("%+v", r.take(0)); again != first {
				r.Fatalf("looked once:\n%s\nand again:\n%s", first, again)
			}
		}
		r.admits(2, 0)
		for range 20 {
			r.admits(0, 0)
			r.pass(second / 2)
		}
		r.admits(3, 0) // at noon + 10 s: the looks left nothing
		r.fresh(noon, per(10*second, 5))
		r.admits(0, 5) // also where nothing was ever charged
		if got, err := r.ledger.Spent(r.Context(), r.account, noon.Add(-time.Hour), 0); err != nil || len(got) != 0 {
			r.Fatalf("a look was counted as spent: %v %v, want none", got, err)
		}
	}},
	{ID: "D2", Name: "the rest that a refusal shows is admitted, and no more", check: func(r *rig) {
		limit := per(time.Hour, 100)
		for _, ceiling := range []int64{50, 70, 100} {
			r.fresh(noon, limit)
			r.admits(40, 60)
			r.bounds = []quota.Bound{under(limit, ceiling), per(24*time.Hour, 200)}
			free := ceiling - 40
			d := r.refuses(free+1, free)
			if d.Refusal.Used != 40 || d.Refusal.Ceiling != ceiling || d.Refusal.Limit != 100 || d.Refusal.RoomIn != "24h0m0s" {
				r.Fatalf("a refusal at 40 of %d used says %+v", ceiling, *d.Refusal)
			}
			r.admits(free, 0)
			r.refuses(1, 0)
		}
	}},
	{ID: "D3", Name: "a lowered limit leaves 0; raised again, the difference", check: func(r *rig) {
		r.bounds = []quota.Bound{per(time.Hour, 100)}
		r.admits(60, 40)
		r.bounds = []quota.Bound{per(time.Hour, 50)}
		r.admits(0, 0)
		r.refuses(1, 0)
		r.used(60)
		r.bounds = []quota.Bound{per(time.Hour, 100)}
		r.admits(0, 40)
		r.admits(40, 0)
	}},
}
