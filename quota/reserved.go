package quota

import "context"

// keepFree lowers the ceilings of a charge so that the scheduled purpose finds need of the pool free below its
// own. It reports whether the amount would still fit into an unused pool.
func (t *Tariff) keepFree(c *Charge, need int64) (fits bool) {
	fits = true
	if need <= 0 {
		return fits
	}
	for i := range c.Bounds {
		b := &c.Bounds[i]
		free := t.Ceilings[Scheduled].Of(b.Window.Limit) - need
		if own := b.Ceiling; free < own {
			b.Ceiling = max(free, 0)
			fits = fits && (c.Amount <= b.Ceiling || c.Amount > own)
		}
	}
	return fits
}

// refuseReserved refuses an ask that does not fit because everything is reserved for the schedule. That holds
// until the provider's next day begins. It peeks, and changes nothing.
func (g *Governor) refuseReserved(ctx context.Context, a Ask) (Decision, error) {
	d, err := g.Ledger.Take(ctx, a.times(0))
	if err != nil {
		return g.degraded(ctx, a, err)
	}
	clock := d.At
	if a.Now.Before(clock) {
		clock = a.Now // by which the caller waits
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
