package audit

import (
	"maps"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/quota"
)

// spendKey matches slots with the ledger's entries: the region or, for a refresh and for backfills,
// whose calls may name any region, the purpose. The purpose of a chart is left out, since a forced one is spent for
// another purpose than one of the schedule.
type spendKey struct {
	purpose quota.Purpose // "" for what fetches a region
	region  string
}

func keyOf(who quota.Who) spendKey {
	if who.Purpose == quota.Refresh || who.Purpose == quota.Backfill {
		return spendKey{purpose: who.Purpose}
	}
	return spendKey{region: who.Region}
}

// whoOf returns whom a slot's spending is counted under.
func whoOf(slot ingest.Slot) quota.Who {
	switch slot.Kind {
	case ingest.KindRefresh:
		return quota.Who{Purpose: quota.Refresh}
	case ingest.KindBackfill:
		return quota.Who{Purpose: quota.Backfill}
	default: // a chart, a search
		return quota.Who{Purpose: quota.Scheduled, Region: slot.Key}
	}
}

// balance is the spending under one key that is not accounted for yet.
type balance struct {
	missing quota.Cost // charged to slots, by pool, and not counted by the ledger
	units   int64      // of slots whose pools are not known, and not counted by the ledger
}

// compare finds the charges that the ledger lacks, slot by slot in the order given.
func compare(slots []ingest.Slot, spent []quota.Spent) []Shortfall {
	var short []Shortfall
	open := balances(slots, spent)
	for _, slot := range slots {
		b := open[keyOf(whoOf(slot))]
		s := Shortfall{Slot: slot}
		if slot.Charges == nil {
			s.Units = max(min(slot.Units, b.units), 0)
			b.units -= s.Units
		} else {
			s.Cost, s.Units = b.draw(slot)
		}
		if s.Units > 0 {
			short = append(short, s)
		}
	}
	return short
}

// balances adds up the slots and subtracts what the ledger has counted. It is not known which pools the units of older
// slots were drawn from, but the ledger has counted each of them in at least one pool. So they are compared with what
// the ledger has in all pools together beyond the known charges: if that is less, it certainly lacks the difference.
func balances(slots []ingest.Slot, spent []quota.Spent) map[spendKey]*balance {
	open := map[spendKey]*balance{}
	for _, slot := range slots {
		key := keyOf(whoOf(slot))
		if open[key] == nil {
			open[key] = &balance{missing: quota.Cost{}}
		}
		for pool, amount := range slot.Charges {
			open[key].missing[pool] += amount
		}
		if slot.Charges == nil {
			open[key].units += slot.Units
		}
	}
	for _, s := range spent {
		if b := open[keyOf(s.Who)]; b != nil {
			b.missing[s.Pool] -= s.Amount
		}
	}
	for _, b := range open {
		for _, amount := range b.missing {
			b.units -= max(-amount, 0)
		}
	}
	return open
}

// draw takes the slot's share of the missing amount.
func (b *balance) draw(slot ingest.Slot) (share quota.Cost, units int64) {
	share, whole := quota.Cost{}, true
	for pool, amount := range slot.Charges {
		n := max(min(amount, b.missing[pool]), 0)
		whole = whole && n == amount
		if n > 0 {
			share[pool], units = n, max(units, n)
			b.missing[pool] -= n
		}
	}
	if whole {
		units = slot.Units // more than in any one pool, if its calls drew on different pools
	}
	return share, units
}

// Posting is a shortfall as it is posted to the ledger.
type Posting struct {
	Who  quota.Who
	Cost quota.Cost
	At   time.Time
}

// Posting returns what to post for a slot that calls these methods. A slot that is done spent nothing after its last
// page. Any other may have tried since: now is later than it spent, which is safe.
func (s Shortfall) Posting(methods []string, t *quota.Tariff, now time.Time) (Posting, error) {
	p := Posting{Who: whoOf(s.Slot), Cost: maps.Clone(s.Cost), At: now}
	if s.Slot.State == ingest.Done {
		p.At = s.Slot.FetchedAt
	}
	largest := int64(0)
	most := quota.Cost{}
	for _, method := range methods {
		cost, err := t.Cost(method)
		if err != nil {
			return p, err
		}
		charge := cost.MaxCharge()
		if charge >= largest {
			p.Who.Method, largest = method, charge
		}
		for pool, amount := range cost {
			most[pool] = max(most[pool], s.Units*amount/max(charge, 1))
		}
	}
	if s.Cost == nil {
		p.Cost = most
	}
	return p, nil
}
