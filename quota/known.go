package quota

import "slices"

// spender identifies the sums that count the same calls: the calls of a region or, for refreshes and backfills, whose
// calls may name any region, the calls of a purpose. Otherwise the purpose is left out, since a chart that is due may
// be fetched by hand.
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

// Lacking returns known, in its order, with the part of each Amount that was not counted; 0 if all of it was. A
// spend of an unknown caller (Purpose.unknown) is lacking if the pool's sum is.
func Lacking(known, counted []Spent) []Spent {
	type key struct {
		spender

		pool string
	}
	open, more := map[key]int64{}, map[string]int64{}
	for _, s := range known {
		if !s.Who.Purpose.unknown() {
			open[key{s.Who.spender(), s.Pool}] += s.Amount
		}
	}
	for _, s := range counted {
		open[key{s.Who.spender(), s.Pool}] -= s.Amount
	}
	for k, n := range open {
		more[k.pool] -= min(n, 0)
	}
	lacking := slices.Clone(known)
	for i, s := range known {
		k := key{s.Who.spender(), s.Pool}
		if s.Who.Purpose.unknown() {
			lacking[i].Amount = max(s.Amount-more[s.Pool], 0)
			more[s.Pool] -= s.Amount - lacking[i].Amount
			continue
		}
		lacking[i].Amount = max(min(s.Amount, open[k]), 0)
		open[k] -= lacking[i].Amount
	}
	return lacking
}

// unknown reports whether a charge stands for other hosts' charges: sharedledger.Unattributed.
func (p Purpose) unknown() bool { return p == "unknown" }
