package quota

// lower lowers the ceilings of a charge by so much, unless it would then never fit.
func (c *Charge) lower(by int64) {
	for _, b := range c.Bounds {
		if b.Ceiling-by < c.Amount {
			return
		}
	}
	for i := range c.Bounds {
		c.Bounds[i].Ceiling -= by
	}
}

// restore says a decision in the purpose's own ceilings, after so many calls had to fit at once.
func (g *Governor) restore(d *Decision, purpose Purpose, calls int64) {
	share := g.Tariff.Ceilings[purpose]
	cost := g.Tariff.Methods[d.Who.Method]
	for i := range d.Pools {
		p := &d.Pools[i]
		remaining := int64(MaxLimit)
		for j := range p.Windows {
			w := &p.Windows[j]
			w.Ceiling = share.Of(w.Window.Limit)
			remaining = min(remaining, max(w.Ceiling-w.Used, 0))
		}
		if p.DrainedUntil.IsZero() && len(p.Windows) > 0 {
			p.Remaining = remaining
		}
	}
	if r := d.Refusal; r != nil && r.Window != DrainWindow {
		if r.Ceiling != share.Of(r.Limit) {
			r.AtOnce = cost[r.Pool] * calls
		}
		r.Ceiling = share.Of(r.Limit)
	}
}
