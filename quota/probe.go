package quota

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"
)

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
		// No two leases are equal, so that of two calls at once the one whose lease holds is the probe.
		lease := p.LastDrain
		lease.Until = d.At.Add(probeTime + rand.N(time.Second)).Truncate(time.Millisecond) //nolint:gosec // only to be different
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
