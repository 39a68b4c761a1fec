package quota

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// Missing returns what Known shows was spent and the ledger has not counted. Nothing is missing if Known is nil. Take
// calls it until nothing was missing once. ErrUnavailable: the ledger cannot say.
func (g *Governor) Missing(ctx context.Context) ([]Spent, error) {
	if g.Known == nil {
		return nil, nil
	}
	now, horizon := g.Now(), g.Tariff.Horizon()
	known, err := g.Known(ctx, now.Add(MaxClockGap-horizon)) // the ledger's clock may be ahead, and it has forgotten more
	if err != nil {
		return nil, fmt.Errorf("read what is known to be spent: %w", err)
	}
	if len(known) == 0 {
		g.isWhole.Store(true)
		return nil, nil
	}
	counted, err := g.ledger().Spent(ctx, g.Account, now.Add(-horizon), 0)
	if err != nil {
		return nil, err
	}
	missing := slices.DeleteFunc(Lacking(known, counted), func(s Spent) bool { return s.Amount == 0 })
	g.isWhole.Store(len(missing) == 0)
	return missing, nil
}

// checkWhole fails if the ledger lacks what Known shows: it was lost, or is an older copy. A ledger that cannot say is
// asked again before the next take.
func (g *Governor) checkWhole(ctx context.Context) error {
	if g.Known == nil || g.isWhole.Load() {
		return nil
	}
	missing, err := g.Missing(ctx)
	switch {
	case errors.Is(err, ErrUnavailable) || errors.Is(err, ErrCorrupt):
		return nil // the take says so
	case err != nil:
		return fmt.Errorf("%w: %w", ErrClosed, err)
	case len(missing) > 0:
		return fmt.Errorf("%w: %w: the first is %d of pool %s by %s: put the ledger back as it was, or post what is missing", ErrClosed, ErrIncomplete,
			missing[0].Amount, missing[0].Pool, missing[0].Who)
	}
	return nil
}

// spender says which sums are of the same calls: those of a region or, for refreshes and backfills, whose calls may name
// any region, of a purpose. Otherwise the purpose is left out, since a chart that is due may be fetched by hand.
type spender struct {
	purpose        Purpose // "" if the calls name a region
	region, client string
}

func (w Who) spender() spender {
	if w.Purpose == Refresh || w.Purpose == Backfill {
		return spender{purpose: w.Purpose, client: w.Client}
	}
	return spender{region: w.Region, client: w.Client}
}

// Lacking returns known, in its order, with the part of each Amount that was not counted; 0 if all of it was.
func Lacking(known, counted []Spent) []Spent {
	type key struct {
		spender

		pool string
	}
	open := map[key]int64{}
	for _, s := range known {
		open[key{s.Who.spender(), s.Pool}] += s.Amount
	}
	for _, s := range counted {
		open[key{s.Who.spender(), s.Pool}] -= s.Amount
	}
	lacking := slices.Clone(known)
	for i, s := range known {
		k := key{s.Who.spender(), s.Pool}
		lacking[i].Amount = max(min(s.Amount, open[k]), 0)
		open[k] -= lacking[i].Amount
	}
	return lacking
}
