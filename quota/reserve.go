package quota

import (
	"context"
	"fmt"
	"time"
)

// Reserve is what a schedule needs of each pool, and what it has used.
type Reserve struct {
	Rest Cost // until the provider's day ends
	// Whole is what the schedule needs in each full sliding window, Used what it has already used of each window. Used
	// does not count against the ceiling of a backfill or a client. If Whole is nil, Rest is also kept free in sliding
	// windows and all use counts.
	Whole, Used PerWindow
}

// PerWindow is an amount for each pool and window, by their names.
type PerWindow map[string]map[string]int64

// keepFree lowers the ceilings of a charge to leave the schedule what it still needs. The schedule's own use does not
// count against a backfill's or a client's ceiling: otherwise a schedule that uses its share would leave them nothing,
// however much is free. keepFree reports whether the amount would fit if nobody but the schedule had spent anything.
func (t *Tariff) keepFree(c *Charge, purpose Purpose, r Reserve) (fits bool) {
	fits = true
	for i := range c.Bounds {
		b := &c.Bounds[i]
		own, need := b.Ceiling, r.Rest[c.Pool]
		if (purpose == Backfill || purpose == Client) && r.Whole != nil {
			used := r.Used[c.Pool][b.Window.Name]
			own += used
			if !b.Window.Day() {
				need = max(r.Whole[c.Pool][b.Window.Name]-used, 0)
			}
		}
		ceiling := own
		if scheduled := t.Ceilings[Scheduled].Of(b.Window.Limit); need > 0 || own > b.Ceiling {
			ceiling = max(min(own, scheduled-need), 0)
		}
		fits = fits && (c.Amount <= ceiling || c.Amount > b.Ceiling)
		b.Ceiling = ceiling
	}
	return fits
}

// ScheduledUse returns how much of each window the scheduled purpose has used, without what leaves within a minute;
// nil if the ledger cannot say.
func (g *Governor) ScheduledUse(ctx context.Context) (PerWindow, error) {
	now := g.Now()
	a, use := g.Tariff.ask(g.Account, now), PerWindow{}
	spentSince := g.spentSince(ctx)
	for _, p := range g.Tariff.Pools {
		use[p.Name] = map[string]int64{}
		c := p.charge(0, whole)
		for i, l := range a.Lookups(c, now.Add(time.Minute)) {
			spent, err := spentSince(p.Name, l.Start)
			if err != nil {
				return nil, fmt.Errorf("read what the schedule has used: %w", err)
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
	d, err := g.Ledger.Take(ctx, a.times(0))
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
				d.Refusal = &Refusal{Pool: c.Pool, Window: b.Window.Name, Used: d.Pools[i].Windows[j].Used, Ceiling: b.Ceiling, Limit: b.Window.Limit}
				return d, nil
			}
		}
	}
	return d, nil
}
