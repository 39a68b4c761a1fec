package quota

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"
)

// A provider sometimes says by mistake that a quota is spent. Believing one such answer in a thousand would end every
// day early, so the Governor doubts a refusal that comes while our count is far below the limit. The pool closes for
// minutes; then one cheap call, the probe, asks again on behalf of all hosts, since the ledger keeps the doubt with
// the drain. A good answer opens the pool. Each further refusal closes it for longer, up to two hours at a time, until
// the provider's day turns. A refusal near the limit is believed at once. A refusal near the count of a recent, true
// refusal is believed too: another program took the rest then and probably takes it again.

// doubts are how long the pool stays closed before each probe. The last value repeats.
var doubts = []time.Duration{5 * time.Minute, 15 * time.Minute, time.Hour, 2 * time.Hour}

// nearLimit is the share of a limit above which a refusal is believed at once.
const nearLimit Share = 900_000

// remembered is how long a confirmed refusal makes the next one near the same count credible.
const remembered = 7 * 24 * time.Hour

// doubt returns the drain for a provider's refusal: until the next probe, minutes away, if our count is far below the
// limit, else until midnight.
func (t *Tariff) doubt(p PoolState, today, now, midnight time.Time) Drain {
	stands := Drain{Until: midnight}
	for _, w := range p.Windows {
		if w.Window.Day() && w.Used >= nearLimit.Of(w.Window.Limit) {
			return stands
		}
	}
	if t.stood(p.LastDrain, today) && p.LastDrain.Used/2 <= usedToday(p.Windows) &&
		usedToday(p.Windows) <= 2*p.LastDrain.Used {
		return stands
	}
	probe := 0
	if p.LastDrain.Active(today.Add(longestLease)) {
		probe = p.LastDrain.Probe
	}
	wait := doubts[min(probe, len(doubts)-1)]
	// a fifth more or less, so that accounts do not ask together
	wait += time.Duration((rand.Float64() - 0.5) / 2.5 * float64(wait)) //nolint:gosec // no secret
	if !now.Add(wait).Before(midnight) {
		return stands
	}
	return Drain{Until: now.Add(wait).Truncate(time.Millisecond), Probe: probe + 1}
}

// stood reports whether a drain was a provider's refusal of the last days that was never withdrawn: it lasted until
// the provider's midnight, or its last probe was due shortly before that.
func (t *Tariff) stood(last Drain, today time.Time) bool {
	if last.By != ByProvider || last.Until.After(today) || last.Until.Before(today.Add(-remembered)) {
		return false
	}
	begins, ends := t.dayOf(last.Until)
	return begins.Equal(last.Until) || last.Probe >= len(doubts) && ends.Sub(last.Until) < doubts[len(doubts)-1]
}

// probeTime is how long a probe keeps other calls waiting. If the probe never returns, another call probes after that.
const probeTime = 2 * time.Minute

// longestLease is the longest time that a lease closes a pool. A drain that ends within it after midnight began the
// day before, since the first doubt of a day lasts longer.
const longestLease = probeTime + 10*time.Second

// probe makes an admitted call the probe, if the pool waits for one; other calls are refused until it has returned. A
// call that comes second, or costs more than the cheapest one, is refunded and refused.
func (g *Governor) probe(ctx context.Context, d Decision) (Decision, error) {
	today, _ := g.Tariff.dayOf(d.At)
	for _, p := range d.Pools {
		if p.Charged == 0 || p.LastDrain.Probe == 0 || !p.LastDrain.Active(today.Add(longestLease)) {
			continue
		}
		// Random leases almost never coincide (one in ten million), so if two calls are made at once, the stored
		// lease decides which call is the probe.
		lease := p.LastDrain
		random := rand.N(longestLease - probeTime) //nolint:gosec // only to be different
		lease.Until = d.At.Add(probeTime + random).Truncate(time.Microsecond)
		mine := p.Charged <= g.Tariff.cheapest(p.Pool)
		if mine {
			var err error
			if mine, err = g.lease(ctx, d, p, lease); err != nil {
				g.giveBack(ctx, d)
				return Decision{}, fmt.Errorf("%w: %s: one call must ask whether %s is spent, "+
					"and without the ledger others would ask too: %w", ErrClosed, d.Who.Method, p.Pool, err)
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
	if err := g.ledger().Drain(ctx, g.Account, p.Pool, lease); err != nil {
		return false, err
	}
	now, err := g.poolState(ctx, d.Who, p.Pool)
	return err == nil && now.Drain.Until.Equal(lease.Until), err
}

func (g *Governor) poolState(ctx context.Context, who Who, pool string) (PoolState, error) {
	peek := g.Tariff.ask(g.Account, g.Now())
	peek.Who, peek.Charges = who, []Charge{g.Tariff.pool(pool).charge(0, whole)}
	d, err := g.ledger().Take(ctx, peek)
	if err != nil {
		return PoolState{}, err
	}
	return d.Pools[0], nil
}

// refuseDoubted turns the decision into the refusal of a call that is not the probe.
func (g *Governor) refuseDoubted(d Decision, p PoolState, lease Drain) Decision {
	w := p.Windows[0]
	d.refuse(d.At, lease.Until)
	d.Refusal = lease.refusal(p.Pool, Bound{Window: w.Window, Ceiling: w.Ceiling})
	for i := range d.Pools {
		d.Pools[i].Charged = 0
	}
	return d
}

// Answered opens the pool again after a probe was answered, unless it was closed otherwise since.
func (g *Governor) Answered(ctx context.Context, d Decision) error {
	var errs []error
	for _, p := range d.Pools {
		if !d.Probe || p.LastDrain.Probe == 0 {
			continue
		}
		now, err := g.poolState(ctx, d.Who, p.Pool)
		if err == nil && now.LastDrain.Probe == p.LastDrain.Probe {
			err = g.ledger().Drain(ctx, g.Account, p.Pool, Drain{})
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// cheapest returns the smallest amount that any method draws from the pool; MaxLimit if none does.
func (t *Tariff) cheapest(pool string) int64 {
	least := int64(MaxLimit)
	for _, cost := range t.Methods {
		if amount, ok := cost[pool]; ok {
			least = min(least, amount)
		}
	}
	return least
}
