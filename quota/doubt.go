package quota

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"
)

// A provider sometimes says that a quota is spent which by our own count is not: one such answer in a thousand would
// close every day early. A no that comes while our count is far below the limit is therefore doubted. The pool is
// closed for minutes, and then one cheap call, a probe, asks again: for all hosts, since the doubt is kept with the
// drain in the ledger. An answer opens the pool. Each no closes it for longer, at most for two hours, until the
// provider's day turns. A no that comes while our own count is near the limit is believed, and so is one near the
// count at which a no of the last days stood until its day turned: whoever took the rest then takes it again.

// doubts are how long the pool stays closed before each probe; the last before every further one.
var doubts = []time.Duration{5 * time.Minute, 15 * time.Minute, time.Hour, 2 * time.Hour}

// nearLimit is the part of a limit from which on a no is believed at once.
const nearLimit Share = 900_000

// remembered is for how long a no that stood makes the next one near the same count credible.
const remembered = 7 * 24 * time.Hour

// doubt returns how the provider's no closes a pool: for some minutes, until the next probe, if it comes while our own
// count is far below the limit, and otherwise until midnight.
func (t *Tariff) doubt(p PoolState, today, now, midnight time.Time) Drain {
	stands := Drain{Until: midnight}
	for _, w := range p.Windows {
		if w.Window.Day() && w.Used >= nearLimit.Of(w.Window.Limit) {
			return stands
		}
	}
	if t.stood(p.LastDrain, today) && p.LastDrain.Used/2 <= usedToday(p.Windows) && usedToday(p.Windows) <= 2*p.LastDrain.Used {
		return stands
	}
	probe := 0
	if p.LastDrain.Holds(today) {
		probe = p.LastDrain.Probe
	}
	wait := doubts[min(probe, len(doubts)-1)]
	wait += time.Duration((rand.Float64() - 0.5) / 2.5 * float64(wait)) //nolint:gosec // a fifth more or less, so that accounts do not ask together
	if !now.Add(wait).Before(midnight) {
		return stands
	}
	return Drain{Until: now.Add(wait).Truncate(time.Millisecond), Probe: probe + 1}
}

// stood reports whether a drain is the provider's no of one of the last days, and held until its midnight.
func (t *Tariff) stood(last Drain, today time.Time) bool {
	if last.By != ByProvider || last.Probe > 0 || last.Until.After(today) || last.Until.Before(today.Add(-remembered)) {
		return false
	}
	begins, _ := t.dayOf(last.Until)
	return begins.Equal(last.Until)
}

// probeTime is how long one probe keeps others from asking. Should it never come back, another asks then.
const probeTime = 2 * time.Minute

// probe makes an admitted call the one that asks whether a doubted no still holds, if a probe is waited for: others are
// refused until it has come back. A call that is more expensive than need be, or comes second, is refunded and refused.
func (g *Governor) probe(ctx context.Context, d Decision) (Decision, error) {
	today, _ := g.Tariff.dayOf(d.At)
	for _, p := range d.Pools {
		if p.Charged == 0 || p.LastDrain.Probe == 0 || p.LastDrain.Until.Before(today) {
			continue
		}
		// No two leases are equal, by ten million to one, so that of two calls at once the one whose lease holds is the probe.
		lease := p.LastDrain
		lease.Until = d.At.Add(probeTime + rand.N(10*time.Second)).Truncate(time.Microsecond) //nolint:gosec // only to be different
		mine := p.Charged <= g.Tariff.cheapest(p.Pool)
		if mine {
			var err error
			if mine, err = g.lease(ctx, d, p, lease); err != nil {
				g.giveBack(ctx, d)
				return Decision{}, fmt.Errorf("%w: %s: one call is to ask whether %s is spent, and no ledger keeps others from asking: %w", ErrClosed, d.Who.Method, p.Pool, err)
			}
		}
		if !mine {
			g.giveBack(ctx, d)
			return g.refuseDoubted(d, p, lease), nil
		}
		d.Probe = true
	}
	return d, nil
}

// lease closes the pool while a probe is under way, and reports whether this call is the probe.
func (g *Governor) lease(ctx context.Context, d Decision, p PoolState, lease Drain) (bool, error) {
	if err := g.Ledger.Drain(ctx, g.Account, p.Pool, lease); err != nil {
		return false, err
	}
	peek := g.Tariff.ask(g.Account, g.Now())
	peek.Who, peek.Charges = d.Who, []Charge{g.Tariff.pool(p.Pool).charge(0, whole)}
	now, err := g.Ledger.Take(ctx, peek)
	return err == nil && now.Pools[0].Drain.Until.Equal(lease.Until), err
}

// refuseDoubted turns the decision into the refusal of a call that is not the probe.
func (g *Governor) refuseDoubted(d Decision, p PoolState, lease Drain) Decision {
	w := p.Windows[0]
	d.refuse(d.At, lease.Until)
	d.Refusal = lease.refusal(p.Pool, Bound{w.Window, w.Ceiling})
	for i := range d.Pools {
		d.Pools[i].Charged = 0
	}
	return d
}

// Answered opens the pool again, once the call of a probe was answered.
func (g *Governor) Answered(ctx context.Context, d Decision) error {
	var errs []error
	for _, p := range d.Pools {
		if d.Probe && p.LastDrain.Probe > 0 {
			errs = append(errs, g.Ledger.Drain(ctx, g.Account, p.Pool, Drain{}))
		}
	}
	return errors.Join(errs...)
}

// cheapest returns what the cheapest call draws of a pool; MaxLimit if none does.
func (t *Tariff) cheapest(pool string) int64 {
	least := int64(MaxLimit)
	for _, cost := range t.Methods {
		if amount, ok := cost[pool]; ok {
			least = min(least, amount)
		}
	}
	return least
}
