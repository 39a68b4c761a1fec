package quota

import (
	"context"
	"slices"
)

// leave lowers the ceilings of a charge so that the scheduled purpose finds need of the pool free below its
// own. It reports whether the amount would still fit into an unused pool.
func (t *Tariff) leave(c *Charge, need int64) (fits bool) {
	fits = true
	if need <= 0 {
		return fits
	}
	for i := range c.Bounds {
		b := &c.Bounds[i]
		most := t.Ceilings[Scheduled].Of(b.Window.Limit) - need
		if own := b.Ceiling; most < own {
			b.Ceiling = max(most, 0)
			fits = fits && (c.Amount <= b.Ceiling || c.Amount > own)
		}
	}
	return fits
}

// refuseKept refuses an ask that does not fit because all is kept for the schedule: not for ever, since the
// provider's next day begins anew. It looks, and changes nothing.
func (g *Governor) refuseKept(ctx context.Context, a Ask) (Decision, error) {
	look := a
	look.Charges = slices.Clone(a.Charges)
	for i := range look.Charges {
		look.Charges[i].Amount = 0
	}
	d, err := g.Ledger.Take(ctx, look)
	if err != nil {
		return g.degraded(ctx, a, err)
	}
	d.Allowed = false
	d.RetryAfter = ceilMillis(a.Midnights[a.Today(d.At)+1].Sub(d.At))
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
