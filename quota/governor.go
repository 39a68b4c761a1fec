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
	Reserve Reserve      // nil: every call fails closed while the ledger cannot answer
	Hosts   int          // data directories that share the ledger, each with its part of the emergency budget; 0 is 1
	Log     *slog.Logger // nil: nothing is logged
}

// Reserve is a data directory's own account of what went on while the ledger could not answer; the
// ledger is told of it before it decides again. A Journal is one, a Shared ledger is its own.
type Reserve interface {
	// State is what is known of the account without asking the ledger.
	State(ctx context.Context, account string) (JournalState, error)
	// Allow is Journal.Allow.
	Allow(ctx context.Context, row Row, budgets []Budget) (bool, error)
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
	a.Brief = g.Reserve != nil && g.cheap(a) == nil
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
