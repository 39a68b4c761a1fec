package quotatest

import (
	"errors"
	"time"

	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/internal/protocol"
)

// refused has asks that no ledger may act on, and clocks that no ledger may believe.
var refused = []Case{
	{ID: "L4", Name: "after a clock a year ahead a reset heals the account at once", check: func(r *rig) {
		r.bounds = []quota.Bound{per(time.Hour, 5)}
		ahead := noon.AddDate(1, 0, 0)
		r.clock.Set(ahead)
		r.take(5)
		if err := r.ledger.Drain(r.Context(), r.account, "units", quota.Drain{Until: ahead.Add(time.Hour)}); err != nil {
			r.Fatal(err)
		}
		r.clock.Set(noon)
		if _, err := r.try(charge("units", 1, r.bounds...)); !errors.Is(err, quota.ErrUnavailable) {
			r.Fatalf("a year before the newest entry: %v, want error %v", err, quota.ErrUnavailable)
		}
		err := r.ledger.Reset(r.Context(), r.account)
		if errors.Is(err, quota.ErrShared) {
			return
		}
		if err != nil {
			r.Fatal(err)
		}
		r.admits(5, 0)
		r.retries(1, time.Hour, "1h0m0s")
		r.pass(time.Hour)
		r.used(0)
	}},
	{ID: "L4", Name: "a clock a year behind is not believed, and its spends are gone once it is set right",
		check: func(r *rig) {
			r.bounds = []quota.Bound{per(time.Hour, 5)}
			behind := noon.AddDate(-1, 0, 0)
			r.take(3)
			r.clock.Set(behind)
			for _, amount := range []int64{0, 1} {
				if d, err := r.try(charge("units", amount, r.bounds...)); !errors.Is(err, quota.ErrUnavailable) {
					r.Fatalf("%d, a year before the newest entry: %+v, %v, want error %v", amount, d, err, quota.ErrUnavailable)
				}
			}
			r.clock.Set(noon)
			r.used(3)
			r.admits(2, 0)
			r.fresh(behind, per(time.Hour, 5))
			r.take(5)
			r.refuses(1, 0)
			r.clock.Set(noon)
			r.used(0)
			r.admits(5, 0)
			r.retries(1, time.Hour, "1h0m0s")
		}},
	{ID: "L4", Name: "a clock a year behind is not believed, even days later, after the provider's refusal",
		check: func(r *rig) {
			r.bounds = []quota.Bound{per(time.Hour, 5)}
			r.take(3)
			r.pass(96 * time.Hour)
			if err := r.ledger.Drain(r.Context(), r.account, "units",
				quota.Drain{Until: r.clock.Now().Add(time.Hour)}); err != nil {
				r.Fatal(err)
			}
			r.clock.Set(noon.AddDate(-1, 0, 0))
			if d, err := r.try(charge("units", 1, r.bounds...)); !errors.Is(err, quota.ErrUnavailable) {
				r.Fatalf("a year before the newest entry: %+v, %v, want error %v", d, err, quota.ErrUnavailable)
			}
		}},
	{ID: "L7", Name: "an ask that contradicts itself is refused at its first use, and changes nothing",
		check: func(r *rig) {
			good := per(time.Hour, 5)
			for name, change := range map[string]func(*quota.Ask){
				"a negative grace":        func(a *quota.Ask) { a.Grace = -12 * time.Hour },
				"a negative window":       func(a *quota.Ask) { a.Charges[0].Bounds[0].Window.Length = -time.Hour },
				"a window too long":       func(a *quota.Ask) { a.Charges[0].Bounds[0].Window.Length = protocol.MaxWindow + 1 },
				"a negative horizon":      func(a *quota.Ask) { a.Horizon = -quota.MinHorizon },
				"a negative precision":    func(a *quota.Ask) { a.Precision = -time.Second },
				"a limit of nothing":      func(a *quota.Ask) { a.Charges[0].Bounds[0].Window.Limit = 0 },
				"a ceiling above a limit": func(a *quota.Ask) { a.Charges[0].Bounds[0].Ceiling = 6 },
				"no charge":               func(a *quota.Ask) { a.Charges = nil },
				"no window":               func(a *quota.Ask) { a.Charges[0].Bounds = nil },
				"no pool":                 func(a *quota.Ask) { a.Charges[0].Pool = "" },
				"no account":              func(a *quota.Ask) { a.Account = "" },
			} {
				for _, amount := range []int64{0, 1} {
					a := r.ask(charge("units", amount, good))
					change(&a)
					if d, err := r.ledger.Take(r.Context(), a); !errors.Is(err, quota.ErrUnknown) {
						r.Errorf("%s, %d: %+v, %v, want error %v", name, amount, d, err, quota.ErrUnknown)
					}
					if err := r.ledger.Post(r.Context(), a, r.clock.Now()); !errors.Is(err, quota.ErrUnknown) {
						r.Errorf("a post of %s: %v, want error %v", name, err, quota.ErrUnknown)
					}
				}
			}
			r.bounds = []quota.Bound{good}
			r.used(0)
		}},
	{ID: "L7", Name: "a drain that contradicts itself is refused, and changes nothing", check: func(r *rig) {
		until := noon.Add(time.Hour)
		for name, d := range map[string]quota.Drain{
			"less than nothing used":         {Until: until, Used: -1},
			"more used than an exact number": {Until: until, Used: quota.MaxLimit + 1},
			"nobody":                         {Until: until, By: quota.ByUnknown + 1},
			"a probe before the first":       {Until: until, Probe: -1},
		} {
			if err := r.ledger.Drain(r.Context(), r.account, "units", d); !errors.Is(err, quota.ErrUnknown) {
				r.Errorf("%s: %v, want error %v", name, err, quota.ErrUnknown)
			}
		}
		if err := r.ledger.Drain(r.Context(), r.account, "", quota.Drain{Until: until}); !errors.Is(err, quota.ErrUnknown) {
			r.Errorf("no pool: %v", err)
		}
		r.bounds = []quota.Bound{per(time.Hour, 5)}
		r.admits(1, 4)
	}},
	{ID: "K5", Name: "the allowed gap between clocks is a setting of its own", check: func(r *rig) {
		r.grace, r.gap = time.Millisecond, 20*second
		r.bounds = []quota.Bound{per(time.Hour, 5)}
		r.admits(3, 2)
		r.clock.Set(noon.Add(-20 * second))
		r.admits(1, 1)
		r.clock.Set(noon.Add(-21 * second))
		if d, err := r.try(charge("units", 1, r.bounds...)); !isUnavailable(err) {
			r.Fatalf("21s back with a gap of 20s: %+v, %v", d, err)
		}
	}},
}
