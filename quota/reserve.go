package quota

import (
	"context"
	"fmt"
	"time"
)

// Reserve is a schedule's need of each pool, and its use so far. Backfills and clients leave that much free, even below
// their ceilings.
type Reserve struct {
	Today Cost      // until the provider's day ends
	Until time.Time // when that day ends; takes ignore it
	// Whole is the schedule's need in each full sliding window, Used the part of each window that it has already
	// used. Used does not count against the ceiling of a backfill or a client. If Whole is nil, Today is also kept
	// free in sliding windows and all use counts. Both are by pool and window.
	Whole, Used map[string]map[string]int64
}

// yields reports whether calls of the purpose must leave room for the schedule.
func (p Purpose) yields() bool { return p == Backfill || p == Client }

// bound returns how much of a window may be used before the purpose must stop: the one answer to how much is left for
// it, for a take and for every report. Its ceiling is lowered by the schedule's remaining need. The schedule's own
// use does not count against a backfill's or a client's ceiling: otherwise a schedule that uses its share would leave
// them nothing, however much is free.
func (t *Tariff) bound(pool string, w Window, purpose Purpose, r Reserve) Bound {
	b := Bound{Window: w, Ceiling: t.Ceilings[purpose].Of(w.Limit)}
	own, need := b.Ceiling, r.Today[pool]
	if purpose.yields() && r.Whole != nil {
		used := r.Used[pool][w.Name]
		own += used
		if !w.Day() {
			need = max(r.Whole[pool][w.Name]-used, 0)
		}
	}
	scheduled := t.Ceilings[Scheduled].Of(w.Limit)
	if need > 0 || own > b.Ceiling {
		b.Ceiling = max(min(own, scheduled-need), 0)
	}
	if need > 0 && scheduled-need < own {
		b.Reserved, b.scheduled = need, scheduled
	}
	return b
}

// Left returns how much of a pool the purpose may still spend now: its windows as a ledger reported them, and the
// schedule's need.
func (t *Tariff) Left(pool string, windows []WindowState, purpose Purpose, r Reserve) int64 {
	left := int64(MaxLimit)
	for _, w := range windows {
		left = min(left, t.LeftOf(pool, w, purpose, r))
	}
	return max(left, 0)
}

// LeftOf is Left of one window; it is negative if more is used than the purpose may use.
func (t *Tariff) LeftOf(pool string, w WindowState, purpose Purpose, r Reserve) int64 {
	return t.bound(pool, w.Window, purpose, r).Ceiling - w.Used
}

// leave lowers the ceilings of a charge to the ceilings of bound. It reports whether the amount would fit if only the
// schedule had spent anything.
func (t *Tariff) leave(c *Charge, purpose Purpose, r Reserve) (fits bool) {
	fits = true
	for i, b := range c.Bounds {
		c.Bounds[i] = t.bound(c.Pool, b.Window, purpose, r)
		fits = fits && (c.Amount <= c.Bounds[i].Ceiling || c.Amount > b.Ceiling)
	}
	return fits
}

// ScheduledUse returns how much of each window the scheduled purpose has used, without units that leave within a
// minute; nil if the ledger cannot say.
func (g *Governor) ScheduledUse(ctx context.Context) (map[string]map[string]int64, error) {
	now := g.Now()
	a, use := g.Tariff.ask(g.Account, now), map[string]map[string]int64{}
	spentSince := g.spentSince(ctx, now)
	for _, p := range g.Tariff.Pools {
		use[p.Name] = map[string]int64{}
		c := p.charge(0, whole)
		for i, l := range a.Lookups(c, now.Add(time.Minute)) {
			spent, err := spentSince.sums(p.Name, l.Start)
			if err != nil {
				return nil, fmt.Errorf("read the schedule's use: %w", err)
			}
			for _, s := range spent {
				if s.Who.Purpose == Scheduled {
					use[p.Name][c.Bounds[i].Window.Name] += s.Amount
				}
			}
		}
	}
	return use, nil
}

// refuseReserved refuses an ask until the provider's next day because everything is reserved for the schedule. It
// charges nothing.
func (g *Governor) refuseReserved(ctx context.Context, a Ask) (Decision, error) {
	d, err := g.ledger().Take(ctx, a.times(0))
	if err != nil {
		return g.degraded(ctx, a, err)
	}
	clock := d.At
	if a.Now.Before(clock) {
		clock = a.Now // the caller waits by its own clock
	}
	d.refuse(clock, a.turns(a.day(d.At)+1))
	for i, c := range a.Charges {
		for j, b := range c.Bounds {
			if c.Amount > b.Ceiling {
				d.Refusal = b.refusal(a, c.Pool, d.Pools[i].Windows[j].Used)
				return d, nil
			}
		}
	}
	return d, nil
}
