package quota

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"
)

// Journal is a data directory's own count of what was let through while the ledger could not answer.
// It outlives the process, so that a crash loop has one budget, not many.
type Journal interface {
	// Allow records e when every budget has room for it, all or nothing, and says whether it did.
	Allow(ctx context.Context, e Emergency, budgets []Budget) (bool, error)
	// Unposted are the emergencies that the ledger does not know yet, oldest first.
	Unposted(ctx context.Context, account string) ([]Emergency, error)
	// Posted marks one as known to the ledger.
	Posted(ctx context.Context, id int64) error
}

// Emergency is one call that was let through.
type Emergency struct {
	ID      int64 // the journal's
	Account string
	At      time.Time
	Who     Who
	Amounts Cost
}

// Budget is what a pool may spend in emergencies.
type Budget struct {
	Pool   string
	Amount int64         // at most this much
	Within time.Duration // over this long, up to now
}

// degraded decides about a call that the ledger did not answer for, because of cause.
func (g *Governor) degraded(ctx context.Context, a Ask, cause error) (Decision, error) {
	if !errors.Is(cause, ErrUnavailable) {
		return Decision{}, cause // refused as such, or something a person has to look at
	}
	if ctx.Err() != nil {
		return Decision{}, context.Cause(ctx)
	}
	if g.Journal == nil {
		return Decision{}, fmt.Errorf("%w: %s: %w", ErrClosed, a.Who.Method, cause)
	}
	e := Emergency{Account: g.Account, At: g.Now(), Who: a.Who, Amounts: Cost{}}
	var budgets []Budget
	for _, c := range a.Charges {
		budget := Budget{Pool: c.Pool, Amount: MaxLimit, Within: 0}
		for _, b := range c.Bounds {
			if most := g.Tariff.Failure.OpenAtMost.Of(b.Window.Limit); c.Amount > most {
				return Decision{}, fmt.Errorf("%w: %s costs %d of pool %s, and without the ledger at most %d goes on: %w",
					ErrClosed, a.Who.Method, c.Amount, c.Pool, most, cause)
			}
			budget.Amount = min(budget.Amount, g.Tariff.emergency(b.Window.Limit))
		}
		budget.Within = g.Tariff.pool(c.Pool).longest() + a.Grace
		budgets = append(budgets, budget)
		e.Amounts[c.Pool] = c.Amount
	}
	ok, err := g.Journal.Allow(ctx, e, budgets)
	if err != nil {
		return Decision{}, fmt.Errorf("%w: %s: %w; and the journal: %w", ErrClosed, a.Who.Method, cause, err)
	}
	if !ok {
		return Decision{}, fmt.Errorf("%w: %s: the emergency budget is used up: %w", ErrClosed, a.Who.Method, cause)
	}
	if g.Log != nil {
		g.Log.WarnContext(ctx, "the ledger cannot answer: the call goes on, from the emergency budget",
			slog.String("method", a.Who.Method), slog.String("region", a.Who.Region), slog.Any("error", cause))
	}
	d := Decision{Allowed: true, At: e.At, Who: a.Who, Degraded: true}
	for _, c := range a.Charges {
		d.Pools = append(d.Pools, PoolState{Pool: c.Pool, Charged: c.Amount})
	}
	return d, nil
}

// settleEmergency posts what was let through, before anything else is taken. A crash between the two
// steps, or two processes that come back at once, post it twice: counted too often, never too little.
func (g *Governor) settleEmergency(ctx context.Context) error {
	if g.Journal == nil {
		return nil
	}
	waiting, err := g.Journal.Unposted(ctx, g.Account)
	if err != nil {
		return err
	}
	for _, e := range waiting {
		a := g.Tariff.ask(g.Account, g.Now())
		a.Who = e.Who
		for pool, amount := range e.Amounts {
			a.Charges = append(a.Charges, posted(pool, amount))
		}
		if err := g.Ledger.Post(ctx, a, e.At); err != nil {
			return err
		}
		if err := g.Journal.Posted(ctx, e.ID); err != nil {
			return err
		}
	}
	return nil
}
