package audit

import (
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

// compare finds the charges that the ledger lacks, slot by slot in the order given.
func compare(slots []ingest.Slot, spent []quota.Spent) []Shortfall {
	open := map[spendKey]quota.Cost{} // charged to slots, and not counted by the ledger
	for _, slot := range slots {
		key := keyOf(whoOf(slot))
		if open[key] == nil {
			open[key] = quota.Cost{}
		}
		for pool, amount := range slot.Charges {
			open[key][pool] += amount
		}
	}
	for _, s := range spent {
		if missing := open[keyOf(s.Who)]; missing != nil {
			missing[s.Pool] -= s.Amount
		}
	}
	var short []Shortfall
	for _, slot := range slots {
		if s := draw(slot, open[keyOf(whoOf(slot))]); s.Units > 0 {
			short = append(short, s)
		}
	}
	return short
}

// draw takes the slot's share of the missing amounts.
func draw(slot ingest.Slot, missing quota.Cost) Shortfall {
	s, whole := Shortfall{Slot: slot, Cost: quota.Cost{}}, true
	for pool, amount := range slot.Charges {
		n := max(min(amount, missing[pool]), 0)
		whole = whole && n == amount
		if n > 0 {
			s.Cost[pool], s.Units = n, max(s.Units, n)
			missing[pool] -= n
		}
	}
	if whole {
		s.Units = slot.Units // more than in any one pool, if its calls drew on different pools
	}
	return s
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
	p := Posting{Who: whoOf(s.Slot), Cost: s.Cost, At: now}
	if s.Slot.State == ingest.Done {
		p.At = s.Slot.FetchedAt
	}
	largest := int64(0)
	for _, method := range methods {
		cost, err := t.Cost(method)
		if err != nil {
			return p, err
		}
		if charge := cost.MaxCharge(); charge >= largest {
			p.Who.Method, largest = method, charge
		}
	}
	return p, nil
}
