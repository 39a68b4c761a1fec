package quotatest

import (
	"fmt"
	"time"

	"github.com/trendvidstream/ingest/quota"
)

var life = []Case{
	{ID: "F1", Name: "an idle account is gone after its horizon", Needs: Counts, check: func(r *rig) {
		r.bounds = []quota.Bound{per(time.Hour, 10), daily(10)}
		for range 10 {
			r.take(1)
			r.pass(second)
		}
		idle := r.account
		r.account = "busy"
		r.clock.Set(noon.Add(quota.MinHorizon + expiry + time.Minute))
		for range 200 { // enough for any ledger to delete old accounts
			r.take(0)
			r.take(1)
			r.pass(time.Minute)
		}
		if h := r.store.Footprint(r); h.Accounts > 1 {
			r.Fatalf("two accounts, one idle for longer than its horizon: %+v is held, want at most 1", h)
		}
		r.account = idle
		r.admits(10, 0)
	}},
	{ID: "F1", Name: "a drained account is remembered as long as it is drained", check: func(r *rig) {
		r.bounds = []quota.Bound{per(second, 10)}
		r.admits(1, 9)
		drained, until := r.account, noon.Add(72*time.Hour)
		if err := r.ledger.Drain(r.Context(), drained, "units", quota.Drain{Until: until, Used: 3}); err != nil {
			r.Fatal(err)
		}
		for hour := 0; r.clock.Now().Before(until.Add(-time.Hour)); hour++ {
			r.account = fmt.Sprintf("busy-%d", hour)
			r.take(1)
			r.pass(time.Hour)
		}
		r.account = drained
		r.refuses(1, 0)
		r.clock.Set(until)
		r.admits(1, 9)
	}},
	{ID: "F2", Name: "one-off accounts do not pile up", Needs: Counts, check: oneOffs},
	{ID: "F3", Name: "many entries that expire at once cause no stall", check: stall},
	{ID: "F4", Name: "precision bounds the entries and never admits more", check: func(r *rig) {
		const window, step, limit = 10 * second, second, 50
		r.precision = step
		r.bounds = []quota.Bound{per(window, limit)}
		var admitted []time.Time
		for r.clock.Now().Before(noon.Add(60 * second)) {
			if d := r.take(1); d.Allowed {
				admitted = append(admitted, d.At)
			}
			r.pass(100 * time.Millisecond)
			if now := r.clock.Now(); r.store.Footprint != nil && now.Equal(noon.Add(window)) {
				if h := r.store.Footprint(r); h.Entries > int(window/step)+1 {
					r.Fatalf("%d entries for %v at a precision of %v", h.Entries, window, step)
				}
			}
		}
		if n := mostWithin(admitted, window); n > limit {
			r.Fatalf("%d admitted within %v, limit %d", n, window, limit)
		}
		// Merged entries count from the time of the last one, at any cost and for any spender.
		r.clock.Set(r.clock.Now().Add(time.Hour).Truncate(window))
		r.bounds = []quota.Bound{per(window, 10)}
		start := r.clock.Now()
		r.take(1)
		r.clock.Set(start.Add(900 * time.Millisecond))
		r.take(9)
		r.clock.Set(start.Add(window))
		if d := r.take(10); d.Allowed {
			r.Fatalf("10 admitted %v after 9, limit 10 within %v", window-900*time.Millisecond, window)
		}
		// An entry counts at most one step too long: that much may be lost, no more.
		if want := limit * 60 * second / (window + step); len(admitted) < int(want)-limit {
			r.Fatalf("%d admitted in a minute at a precision of %v, want about %d", len(admitted), step, want)
		}
	}},
	{ID: "L9", Name: "a refusal costs the same however long the log", check: sameRefusal},
	{ID: "L1", Name: "a take after any idle time leaves its charge", check: func(r *rig) {
		for _, number := range []int{63, 64, 65, 128} {
			for _, idle := range []time.Duration{27 * time.Hour, 60 * time.Hour} {
				r.fresh(noon, daily(200))
				for range number - 1 {
					r.take(1)
				}
				r.pass(idle)
				r.admits(150, 50)
				r.used(150)
				r.refuses(150, 50)
			}
		}
	}},
}

// expiry is how long after its horizon a ledger may keep an idle account.
const expiry = 2 * time.Hour

// clientExpiry is expiry of an account with a horizon below quota.MinHorizon.
const clientExpiry = 3 * time.Second

// oneOffs makes accounts that are used once, and as many again when the first are idle for longer than their horizon:
// first a provider's accounts, then clients' accounts.
func oneOffs(r *rig) {
	keys := r.backend.Keys
	if keys == 0 {
		keys = 100_000
	}
	for _, life := range []struct{ horizon, expiry time.Duration }{{quota.MinHorizon, expiry + time.Minute},
		{time.Hour, clientExpiry}} {
		for visit := range 2 {
			for i := range keys {
				r.account = fmt.Sprintf("client-%v-%d-%d", life.horizon, visit, i)
				a := r.ask(charge("units", 1, per(time.Hour, 10)))
				a.Horizon = life.horizon
				if d, err := r.ledger.Take(r.Context(), a); err != nil || !d.Allowed {
					r.Fatalf("%+v, %v, want it admitted", d, err)
				}
			}
			if h := r.store.Footprint(r); h.Accounts < keys || h.Accounts > keys+keys/10 {
				r.Fatalf("%d accounts in use, and as many idle for %v longer than their horizon of %v: %+v held",
					keys, life.expiry, life.horizon, h)
			}
			r.pass(life.horizon + life.expiry)
		}
	}
}

// stall times the first call after a day idle. The machine may be busy with something else, so the best of eight
// counts.
func stall(r *rig) {
	entries, most := r.backend.Entries, 5*time.Millisecond
	if entries == 0 {
		entries = 10_000
	}
	if Raced {
		most *= 10 // the race detector's own price
	}
	var took time.Duration
	for range 8 {
		r.fresh(noon, per(24*time.Hour, int64(entries)), daily(int64(entries)))
		ask := r.ask(charge("units", 1, r.bounds...))
		for range entries {
			if d, err := r.ledger.Take(r.Context(), ask); err != nil || !d.Allowed {
				r.Fatalf("fill: %+v %v", d, err)
			}
		}
		r.refuses(1, 0)
		r.pass(49 * time.Hour) // beyond every horizon
		began := time.Now()
		r.admits(1, int64(entries)-1)
		took = time.Since(began)
		r.used(1, 1)
		r.Logf("the first call after a day idle, with %d entries to forget: %v", entries, took)
		if took < most {
			return
		}
	}
	r.Errorf("the first call after a day idle took %v, want under %v", took, most)
}
