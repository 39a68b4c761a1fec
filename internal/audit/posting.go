package audit

import (
	"maps"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/quota"
)

// Posting is a shortfall as it is posted to the ledger.
type Posting struct {
	Who  quota.Who
	Cost quota.Cost
	At   time.Time
}

// Posting says what to post for a slot that makes calls of these methods. A slot that is done spent until
// its last page. Any other may have tried since: now is later than it spent, which is safe.
func (s Shortfall) Posting(methods []string, t *quota.Tariff, now time.Time) (Posting, error) {
	p := Posting{Who: spender(s.Slot), Cost: maps.Clone(s.Cost), At: now}
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
