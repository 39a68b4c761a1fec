package quota

import "slices"

// spender says which sums are of the same calls: the calls of a region or, for refreshes and backfills, whose calls
// may name any region, the calls of a purpose. Otherwise the purpose is left out, since a chart that is due may be
// fetched by hand.
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
