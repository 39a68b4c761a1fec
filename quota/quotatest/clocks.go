package quotatest

import (
	"time"

	"github.com/trendvidstream/ingest/quota"
)

var clocks = []Case{
	{ID: "K5", Name: "a clock that is ahead opens no day early", check: clockAhead},
	{ID: "K5", Name: "a clock further back than the grace is not believed", check: func(r *rig) {
		r.grace = 30 * second
		r.bounds = []quota.Bound{per(time.Hour, 5), daily(5)}
		r.admits(3, 2)
		r.clock.Set(noon.Add(-31 * second))
		if d, err := r.try(charge("units", 1, r.bounds...)); !isUnavailable(err) {
			r.Fatalf("31s back with a grace of 30s: %+v, %v", d, err)
		}
		r.clock.Set(noon.Add(-30 * second))
		r.admits(1, 1)
	}},
	{ID: "K5", Name: "a clock that drifts from its caller's clock by more than the grace is not believed",
		Needs: OwnClock, check: func(r *rig) {
			r.grace = 30 * second
			r.bounds = []quota.Bound{per(time.Hour, 5), daily(5)}
			r.admits(3, 2)
			for _, r.skew = range []time.Duration{31 * second, -31 * second, 61 * second} {
				if d, err := r.try(charge("units", 1, r.bounds...)); !isUnavailable(err) {
					r.Fatalf("%v apart with a grace of 30s: %+v, %v", r.skew, d, err)
				}
			}
			for _, r.skew = range []time.Duration{30 * second, -30 * second} {
				r.admits(0, 2)
			}
		}},
	{ID: "K6", Name: "retry-after is right by the clock, even if that was set back", check: func(r *rig) {
		for _, bounds := range [][]quota.Bound{{per(10*second, 3)}, {daily(3)}, {per(time.Hour, 100), per(time.Minute, 3)}} {
			for _, back := range []time.Duration{second, 50 * second, 60 * second} {
				r.fresh(noon, bounds...)
				r.take(3)
				r.clock.Set(noon.Add(-back))
				d := r.take(1)
				if left := d.RetryAt.Sub(r.clock.Now()); d.Allowed || left > d.RetryAfter || left <= d.RetryAfter-time.Millisecond {
					r.Fatalf("%s: allowed %t, retry after %v, at %s", r.at(), d.Allowed, d.RetryAfter, d.RetryAt)
				}
				r.exact(d, charge("units", 1, bounds...))
			}
		}
	}},
	{ID: "H1", Name: "a clock that was set back is not believed, and harms nothing", check: setBack},
	{ID: "H1", Name: "a clock that stands a little back goes on from the newest entry", check: func(r *rig) {
		r.bounds = []quota.Bound{per(10*second, 3)}
		r.admits(2, 1)
		r.clock.Set(noon.Add(-30 * second))
		if d := r.admits(1, 0); d.At.Before(noon) {
			r.Fatalf("an entry of %s was followed by one of %s", noon, d.At)
		}
		d := r.refuses(1, 0)
		if !d.RetryAt.Equal(noon.Add(10*second)) || d.RetryAfter != 40*second {
			r.Fatalf("free at %s, after %v; want %s, and 40s by the clock", d.RetryAt, d.RetryAfter, noon.Add(10*second))
		}
		r.clock.Set(noon.Add(10*second - time.Millisecond))
		r.refuses(1, 0)
		r.clock.Set(noon.Add(10 * second))
		r.admits(3, 0)
	}},
	{ID: "H1", Name: "a clock far from its caller's clock is not trusted", Needs: OwnClock, check: func(r *rig) {
		r.bounds = []quota.Bound{per(time.Hour, 5), daily(5)}
		r.admits(3, 2)
		for _, off := range []time.Duration{time.Hour, -time.Hour, 25 * time.Hour, -25 * time.Hour,
			61 * second, -61 * second} {
			charges := []quota.Charge{charge("units", 1, r.bounds...)}
			a := r.ask(charges...)
			r.fails(quota.ErrUnavailable, func() error {
				r.clock.Set(noon.Add(off))
				_, err := r.ledger.Take(r.Context(), a)
				r.clock.Set(noon)
				return err
			})
		}
		r.admits(2, 0)
	}},
	{ID: "H2", Name: "callers whose clocks differ at a midnight change nothing", check: func(r *rig) {
		midnight := time.Date(2026, 11, 2, 8, 0, 0, 0, time.UTC) // the day of 25 hours ends
		r.zone = pacific
		r.fresh(midnight.Add(-time.Hour), daily(5))
		r.admits(5, 0)
		skews := []time.Duration{-5 * second, 0, 5 * second}
		for _, from := range []time.Duration{-4 * second, -time.Millisecond} {
			r.clock.Set(midnight.Add(from))
			for _, r.skew = range skews {
				r.retries(1, -from, "day")
			}
		}
		r.clock.Set(midnight)
		left := int64(5)
		for _, r.skew = range skews {
			left--
			r.admits(1, left)
		}
		r.clock.Set(midnight.Add(4 * second))
		for _, r.skew = range skews[:2] {
			left--
			r.admits(1, left)
		}
		for _, r.skew = range skews {
			r.retries(1, 24*time.Hour-4*second, "day")
		}
	}},
}

// nearMidnight has seconds relative to a midnight: before, at and after each moment when a clock or a call may be on
// another day.
var nearMidnight = []time.Duration{-75, -61, -60, -59, -58, -45, -32, -31, -30, -29, -15,
	-2, -1, 0, 1, 15, 29, 30, 31, 45, 74}

// clockAhead asks every second around midnights, by a clock that is ahead of the provider's by no more than the
// grace, and counts as the provider would, with calls that arrive up to the grace later.
func clockAhead(r *rig) {
	const limit, grace = 20, 30 * second
	r.zone, r.grace = pacific, grace
	for _, midnight := range []time.Time{
		time.Date(2026, 11, 2, 0, 0, 0, 0, pacific), time.Date(2027, 3, 15, 0, 0, 0, 0, pacific),
		time.Date(2026, 6, 2, 0, 0, 0, 0, pacific),
	} {
		for _, ahead := range []time.Duration{0, second, 29 * second, grace} {
			r.fresh(midnight.Add(-12*time.Hour), daily(limit))
			var sent []time.Time // six units each
			for _, day := range []time.Time{midnight.Add(-12 * time.Hour), midnight, midnight.Add(24 * time.Hour)} {
				for _, off := range nearMidnight {
					at := day.Add(off * second)
					r.clock.Set(at.Add(ahead))
					for range limit { // bounded, in case a ledger admits everything
						if !r.take(6).Allowed {
							break
						}
						sent = append(sent, at)
					}
				}
			}
			for _, late := range []time.Duration{0, second, grace} {
				arrived := map[string]int{}
				for _, at := range sent {
					day := at.Add(late).Format(time.DateOnly)
					if arrived[day] += 6; arrived[day] > limit {
						r.Fatalf("a clock %v ahead, calls %v late: %d arrived on %s, limit %d", ahead, late, arrived[day], day, limit)
					}
				}
				if len(arrived) != 3 {
					r.Fatalf("a clock %v ahead, calls %v late: %v, want something on each of three days", ahead, late, arrived)
				}
			}
		}
	}
}

// setBack takes, sends the clock ahead and takes, and brings it back to before that.
func setBack(r *rig) {
	for _, off := range []time.Duration{time.Hour, 25 * time.Hour} {
		r.fresh(noon, per(2*time.Hour, 5))
		r.admits(3, 2)
		r.clock.Set(noon.Add(off))
		left := int64(4)
		if off < 2*time.Hour {
			left = 1
		}
		r.admits(1, left)
		for _, back := range []time.Duration{0, -time.Hour, off - 61*second} {
			r.clock.Set(noon.Add(back))
			for _, amount := range []int64{0, 1} {
				if d, err := r.try(charge("units", amount, r.bounds...)); !isUnavailable(err) {
					r.Fatalf("%s: the newest entry is of %s, and %d: %+v, %v; want %v", r.at(), noon.Add(off),
						amount, d, err, quota.ErrUnavailable)
				}
			}
			if err := r.ledger.Post(r.Context(), r.ask(charge("units", 1, r.bounds...)), noon); !isUnavailable(err) {
				r.Fatalf("%s: post: %v, want %v", r.at(), err, quota.ErrUnavailable)
			}
		}
		r.clock.Set(noon.Add(off + second))
		r.admits(0, left)
		d := r.refuses(5, left)
		r.exact(d, charge("units", 5, r.bounds...))
	}
}
