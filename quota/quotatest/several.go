package quotatest

import (
	"reflect"
	"slices"
	"time"

	"github.com/trendvidstream/ingest/quota"
)

var several = []Case{
	{ID: "E1", Name: "two windows of a pool both decide, in either order", check: func(r *rig) {
		short, long := per(10*second, 5), per(time.Hour, 3)
		for _, bounds := range [][]quota.Bound{{short, long}, {long, short}} {
			r.fresh(noon, bounds...)
			for left := int64(2); left >= 0; left-- {
				r.admits(1, left)
			}
			for range 2 {
				d := r.refuses(1, 0)
				if d.Refusal.Window != "1h0m0s" || d.Refusal.RoomIn != "10s" {
					r.Fatalf("the hour is used up, the 10 s are not: %+v, want \"1h0m0s\" and \"10s\"", *d.Refusal)
				}
			}
			r.used(3, 3)
		}
	}},
	{ID: "E2", Name: "the pool that refuses leaves the other untouched", check: func(r *rig) {
		units, search := per(time.Hour, 1000), per(time.Hour, 2)
		call := []quota.Charge{charge("units", 100, units), charge("search", 1, search)}
		for _, charges := range [][]quota.Charge{call, {call[1], call[0]}} {
			r.fresh(noon, units)
			r.draw(charges...)
			r.draw(charges...)
			d := r.draw(charges...)
			if d.Allowed || d.Refusal.Pool != "search" {
				r.Fatalf("the third search of two: %+v", d)
			}
			r.used(200)
			r.admits(800, 0)
			d = r.draw(charge("search", 0, search))
			if d.Pools[0].Windows[0].Used != 2 {
				r.Fatalf("search has %+v, want Used 2", d.Pools[0])
			}
		}
		r.fresh(noon, units)
		r.admits(950, 50)
		if d := r.draw(call...); d.Allowed || d.Refusal.Pool != "units" || d.Pools[1].Remaining != 2 {
			r.Fatalf("units are used up, search is not: %+v", d)
		}
		if got := r.draw(charge("search", 0, search)).Pools[0].Windows[0].Used; got != 0 {
			r.Fatalf("units refused, and search was charged %d, want 0", got)
		}
	}},
	{ID: "E3", Name: "purposes share one log", check: func(r *rig) {
		limit := per(time.Hour, 100)
		as := func(p quota.Purpose, ceiling int64) {
			r.who.Purpose, r.bounds = p, []quota.Bound{under(limit, ceiling)}
		}
		r.fresh(noon)
		as(quota.Backfill, 70)
		r.admits(70, 0)
		r.refuses(1, 0)
		as(quota.Scheduled, 95)
		r.admits(20, 5)
		as(quota.Manual, 99)
		r.admits(9, 0)
		r.used(99)
		as(quota.Scheduled, 95)
		r.refuses(1, 0)
		as(quota.Backfill, 70)
		r.exact(r.refuses(1, 0), charge("units", 1, r.bounds...))
	}},
	{ID: "E3", Name: "the ledger says who spent how much", check: func(r *rig) {
		b := per(time.Hour, 100)
		take := func(p quota.Purpose, region string, pool string, amount int64) quota.Decision {
			r.who = quota.Who{Purpose: p, Region: region, Method: "videos.list"}
			return r.draw(charge(pool, amount, b))
		}
		take(quota.Scheduled, "US", "units", 3)
		r.pass(10 * time.Minute)
		take(quota.Scheduled, "US", "units", 4)
		take(quota.Manual, "", "units", 20)
		back := take(quota.Backfill, "GB", "units", 50)
		if err := r.ledger.Refund(r.Context(), r.account, back); err != nil {
			r.Fatal(err)
		}
		take(quota.Scheduled, "US", "search", 1)
		take(quota.Scheduled, "US", "units", 99) // refused
		of := func(p quota.Purpose, region, pool string, amount int64) quota.Spent {
			return quota.Spent{Pool: pool, Who: quota.Who{Purpose: p, Region: region, Method: "videos.list"}, Amount: amount}
		}
		for since, want := range map[time.Time][]quota.Spent{
			noon: {of(quota.Scheduled, "US", "search", 1), of(quota.Manual, "", "units", 20),
				of(quota.Scheduled, "US", "units", 7)},
			noon.Add(time.Microsecond): {of(quota.Scheduled, "US", "search", 1), of(quota.Manual, "", "units", 20),
				of(quota.Scheduled, "US", "units", 4)},
			noon.Add(time.Hour): nil,
		} {
			got, err := r.ledger.Spent(r.Context(), r.account, since, 0)
			if err != nil || !slices.Equal(got, want) {
				r.Fatalf("spent since %s:\n%v (%v), want\n%v", since, got, err, want)
			}
		}
		if got, err := r.ledger.Spent(r.Context(), "nobody", noon, 0); err != nil || len(got) != 0 {
			r.Fatalf("an account that was never used spent %v (%v)", got, err)
		}
	}},
	{ID: "E3", Name: "clients have separate sums, also within a step of precision", check: func(r *rig) {
		r.precision = time.Minute
		of := func(client string, amount int64) quota.Spent {
			return quota.Spent{Pool: "units",
				Who: quota.Who{Purpose: quota.Manual, Method: "videos.list", Client: client}, Amount: amount}
		}
		want := []quota.Spent{of("reports", 7), of("", 2), of("notebook", 1)}
		for _, part := range []quota.Spent{of("reports", 3), of("reports", 4), of("", 2), of("notebook", 1)} {
			r.who = part.Who
			r.draw(charge("units", part.Amount, per(time.Hour, 100)))
		}
		if got, err := r.ledger.Spent(r.Context(), r.account, noon, 0); err != nil || !slices.Equal(got, want) {
			r.Fatalf("spent %v (%v), want %v", got, err, want)
		}
	}},
	{ID: "E3", Name: "accounts share nothing", check: func(r *rig) {
		r.bounds = []quota.Bound{per(time.Hour, 10)}
		r.admits(10, 0)
		first := r.account
		r.account = first + "0"
		r.admits(10, 0)
		if err := r.ledger.Drain(r.Context(), r.account, "units",
			quota.Drain{Until: noon.Add(3 * time.Hour), Used: 1}); err != nil {
			r.Fatal(err)
		}
		r.account = first
		r.clock.Set(noon.Add(time.Hour))
		r.admits(10, 0)
	}},
	{ID: "E4", Name: "two configurations on one ledger: the longer horizon wins", check: func(r *rig) {
		long, short := []quota.Bound{per(48*time.Hour, 500)}, []quota.Bound{per(time.Hour, 500)}
		for _, first := range [][]quota.Bound{long, short} {
			r.fresh(noon, first...)
			r.take(1)
			r.bounds = long
			r.take(99)
			r.clock.Set(noon.Add(30 * time.Hour))
			r.bounds = short
			for range 150 { // enough for any ledger to delete old entries
				r.admits(1, r.take(0).Pools[0].Remaining-1)
			}
			r.bounds = long
			r.clock.Set(noon.Add(47 * time.Hour))
			r.used(250)
			d := r.refuses(300, 250)
			if want := time.Hour; d.RetryAfter != want {
				r.Fatalf("retry after %v, want %v: is the history of the longer window gone?", d.RetryAfter, want)
			}
			r.exact(d, charge("units", 300, long...))
		}
		// The longer window belongs to another pool, and comes later.
		r.fresh(noon, per(24*time.Hour, 10))
		r.take(10)
		r.clock.Set(noon.Add(time.Hour))
		for _, c := range []quota.Charge{charge("other", 1, per(48*time.Hour, 10)),
			charge("units", 10, per(48*time.Hour, 10))} {
			d, err := r.ledger.Take(r.Context(), r.ask(c))
			if err != nil || d.Allowed != (c.Pool == "other") {
				r.Fatalf("%s at %v: allowed %v, %v", c.Pool, r.clock.Now(), d.Allowed, err)
			}
			r.clock.Set(noon.Add(30 * time.Hour))
		}
	}},
}

var loss = []Case{
	{ID: "G1", Name: "a lost reply charges once at most", Needs: LoseReply, check: func(r *rig) {
		for _, limit := range []int64{100, 10} { // 10: exactly the cost is left
			r.fresh(noon, per(time.Hour, limit))
			r.store.LoseReply(r)
			d, err := r.ledger.Take(r.Context(), r.ask(charge("units", 10, r.bounds...)))
			if err == nil && !d.Allowed {
				r.Fatalf("the take was carried out, its reply lost, and now it is refused: %v", d.Refusal)
			}
			got := r.take(0).Pools[0].Windows[0].Used
			if got > 10 || err == nil && got != 10 {
				r.Fatalf("one take of 10, its reply lost (%v): %d used", err, got)
			}
		}
	}},
	{ID: "G5", Name: "a ledger that lost its state admits nothing more", Needs: Evict, check: func(r *rig) {
		r.bounds = []quota.Bound{per(time.Hour, 10)}
		r.admits(10, 0)
		r.pass(second)
		r.store.Evict(r)
		d, err := r.ledger.Take(r.Context(), r.ask(charge("units", 1, r.bounds...)))
		if err == nil && d.Allowed {
			r.Fatalf("after the state was evicted at 10 of 10 used: got one more allowed, want it refused")
		}
	}},
	{ID: "A7", Name: "a handle sees another's spends", Needs: Another, check: func(r *rig) {
		r.bounds = []quota.Bound{per(time.Hour, 10)}
		other := r.store.Another(r)
		r.admits(4, 6)
		mine := r.ledger
		r.ledger = other
		d := r.admits(6, 0)
		r.ledger = mine
		r.refuses(1, 0)
		if err := mine.Refund(r.Context(), r.account, d); err != nil {
			r.Fatalf("refund by another handle: %v", err)
		}
		if err := other.Drain(r.Context(), r.account, "units",
			quota.Drain{Until: noon.Add(time.Minute), Used: 7}); err != nil {
			r.Fatal(err)
		}
		r.refuses(1, 0)
		if got, want := mustSpent(r, mine), mustSpent(r, other); !reflect.DeepEqual(got, want) {
			r.Fatalf("two handles say %v and %v were spent", got, want)
		}
	}},
}

func mustSpent(r *rig, l quota.Ledger) []quota.Spent {
	r.Helper()
	s, err := l.Spent(r.Context(), r.account, noon.Add(-time.Hour), 0)
	if err != nil {
		r.Fatal(err)
	}
	return s
}
