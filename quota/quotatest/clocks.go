package quotatest

import (
	"time"

	"github.com/trendvidstream/ingest/quota"
)

var clocks = []Case{
	{ID: "H1", Name: "a clock that was set back is not believed, and harms nothing", check: setBack},
	{ID: "H1", Name: "a clock that stands a little back goes on from the newest entry", check: func(r *rig) {
		r.bounds = []quota.Bound{per(10*second, 3)}
		r.admits(2, 1)
		r.clock.Set(noon.Add(-30 * second))
		if d := r.admits(1, 0); d.At.Before(noon) {
			r.Fatalf("an entry of %s was followed by one of %s", noon, d.At)
		}
		d := r.refuses(1, 0)
		if until := d.At.Add(d.RetryAfter); !until.Equal(noon.Add(10 * second)) {
			r.Fatalf("free at %s, want %s", until, noon.Add(10*second))
		}
		r.clock.Set(noon.Add(10*second - time.Millisecond))
		r.refuses(1, 0)
		r.clock.Set(noon.Add(10 * second))
		r.admits(3, 0)
	}},
	{ID: "H1", Name: "a clock that leaves its caller's is not believed", Needs: OwnClock, check: func(r *rig) {
		r.bounds = []quota.Bound{per(time.Hour, 5), daily(5)}
		r.admits(3, 2)
		for _, off := range []time.Duration{time.Hour, -time.Hour, 25 * time.Hour, -25 * time.Hour, 61 * second, -61 * second} {
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
					r.Fatalf("%s: the newest entry is of %s, and %d: %+v, %v; want %v", r.at(), noon.Add(off), amount, d, err, quota.ErrUnavailable)
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
