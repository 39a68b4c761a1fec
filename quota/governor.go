package quota

import (
	"context"
	"log/slog"
	"time"
)

// Governor draws the cost of calls from a ledger as a tariff prices them, and decides what still
// goes on when the ledger cannot answer. Safe for concurrent use.
type Governor struct {
	Ledger  Ledger
	Tariff  *Tariff
	Account string
	Now     func() time.Time
	Journal Journal      // nil: every call fails closed while the ledger cannot answer
	Log     *slog.Logger // nil: nothing is logged
}

// Request is one call that wants to be made.
type Request struct {
	Method  string // as costs.yaml names it
	Region  string // "" where a call has none
	Purpose Purpose
}

// Take draws the cost of one call. A refusal is a value. Errors: ErrUnknown for a method without a
// price or a purpose that does not exist, ErrNeverFits, ErrClosed when the ledger cannot answer and
// the call may not go on without it, otherwise what the ledger found wrong.
func (g *Governor) Take(ctx context.Context, r Request) (Decision, error) {
	a, err := g.ask(r)
	if err != nil {
		return Decision{}, err
	}
	if err := g.settleEmergency(ctx); err != nil {
		return g.degraded(ctx, a, err)
	}
	d, err := g.Ledger.Take(ctx, a)
	if err != nil {
		return g.degraded(ctx, a, err)
	}
	return d, nil
}

func (g *Governor) ask(r Request) (Ask, error) {
	if _, err := ParsePurpose(string(r.Purpose)); err != nil {
		return Ask{}, err
	}
	cost, err := g.Tariff.Cost(r.Method)
	if err != nil {
		return Ask{}, err
	}
	a := g.Tariff.ask(g.Account, g.Now())
	a.Who = Who{Purpose: r.Purpose, Region: r.Region, Method: r.Method}
	for _, p := range g.Tariff.Pools {
		if amount, ok := cost[p.Name]; ok {
			a.Charges = append(a.Charges, p.charge(amount, g.Tariff.Ceilings[r.Purpose]))
		}
	}
	return a, nil
}
