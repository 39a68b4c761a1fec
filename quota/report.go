package quota

import (
	"context"
	"fmt"
	"time"
)

// Report is the state of an account for a person or a page.
type Report struct {
	At       time.Time
	Account  string
	Degraded error // why the ledger cannot answer; nil when it can, and then Pools and Spent are there
	Pools    []PoolReport
	Spent    []Spent // over the pool's longest window
}

// PoolReport is one pool.
type PoolReport struct {
	Pool         string
	Limit        int64 // the smallest of its windows' limits
	DrainedUntil time.Time
	// Drift is what the provider counted beyond our knowledge when it last said no: limit less what was
	// believed used then, StoppedAt; 0 where it never did.
	Drift     int64
	StoppedAt int64
	Windows   []WindowState
	Remaining map[Purpose]int64
	Ceilings  map[Purpose]int64
}

// Report peeks at every pool of the tariff; it changes nothing.
func (g *Governor) Report(ctx context.Context) (Report, error) {
	now := g.Now()
	r := Report{At: now, Account: g.Account}
	a := g.Tariff.ask(g.Account, now)
	a.Who = Who{Purpose: Manual}
	longest := time.Duration(0)
	for _, p := range g.Tariff.Pools {
		a.Charges = append(a.Charges, p.charge(0, whole))
		longest = max(longest, p.longest())
	}
	d, err := g.Ledger.Take(ctx, a)
	if err == nil {
		r.Spent, err = g.Ledger.Spent(ctx, g.Account, now.Add(-longest))
	}
	if err != nil {
		return r, fmt.Errorf("read the ledger: %w", err)
	}
	r.At = d.At
	for i, p := range g.Tariff.Pools {
		r.Pools = append(r.Pools, g.Tariff.poolReport(p, d.Pools[i]))
	}
	return r, nil
}

func (t *Tariff) poolReport(p Pool, s PoolState) PoolReport {
	r := PoolReport{Pool: p.Name, Limit: MaxLimit, DrainedUntil: s.DrainedUntil, Windows: s.Windows,
		Remaining: map[Purpose]int64{}, Ceilings: map[Purpose]int64{}}
	for _, w := range p.Windows {
		r.Limit = min(r.Limit, w.Limit)
	}
	if !s.LastDrain.IsZero() {
		r.Drift, r.StoppedAt = max(r.Limit-s.LastUsed, 0), s.LastUsed
	}
	for _, purpose := range Purposes() {
		remaining, ceiling := int64(MaxLimit), int64(MaxLimit)
		for _, w := range s.Windows {
			c := t.Ceilings[purpose].Of(w.Window.Limit)
			ceiling = min(ceiling, c)
			remaining = min(remaining, max(c-w.Used, 0))
		}
		if !s.DrainedUntil.IsZero() {
			remaining = 0
		}
		r.Remaining[purpose], r.Ceilings[purpose] = remaining, ceiling
	}
	return r
}
