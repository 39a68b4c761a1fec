package budget

import (
	"fmt"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/fetch"
	"github.com/trendvidstream/ingest/quota"
)

// CallCosts are what the calls of a backfill cost.
type CallCosts struct {
	kind                  ingest.BackfillKind
	channel, page, lookup quota.Cost // empty if it makes no such call
	limits                fetch.Limits
}

// BackfillCalls prices the calls that a kind of backfill makes. If the upstream cannot make them, the error is
// fetch.ErrNoSearch or fetch.ErrNoUploads.
func BackfillCalls(kind ingest.BackfillKind, up fetch.Upstream, t *quota.Tariff) (CallCosts, error) {
	c := CallCosts{kind: kind, limits: up.Limits()}
	calls, err := fetch.BackfillCalls(up, kind)
	if err != nil {
		return c, fmt.Errorf("upstream %s: %w", t.Upstream, err)
	}
	for into, method := range map[*quota.Cost]string{&c.channel: calls.Channel, &c.page: calls.Page, &c.lookup: calls.Lookup} {
		if method == "" {
			continue
		}
		if *into, err = t.Cost(method); err != nil {
			return c, fmt.Errorf("price a backfill of kind %s: %w", kind, err)
		}
	}
	return c, nil
}

// Size is how much there is to fetch, as far as it is known.
type Size struct {
	Pieces   int   // that are still to do
	Channels []int // how many videos each channel has that was looked up, or NoChannel
}

// NoChannel is the size of a channel that does not exist: it costs the call that looks for it.
const NoChannel = -1

// Estimate is what a backfill costs: between Low and High, which are equal if everything is known.
type Estimate struct {
	Low, High quota.Cost
}

// Estimate prices what is still to do.
func (c CallCosts) Estimate(s Size) Estimate {
	switch c.kind {
	case ingest.BackfillUploads:
		return c.uploadsEstimate(s)
	case ingest.BackfillSearch:
		return Estimate{
			Low:  c.findCost(1).Times(int64(s.Pieces)),
			High: c.findCost(c.limits.SearchPages * c.limits.PerPage).Times(int64(s.Pieces)),
		}
	default: // a piece has as many ids as one call looks up
		all := c.lookup.Times(int64(s.Pieces))
		return Estimate{Low: all, High: all}
	}
}

// uploadsEstimate prices channels of known size by that size, and the others by a range.
func (c CallCosts) uploadsEstimate(s Size) Estimate {
	e := Estimate{Low: quota.Cost{}, High: quota.Cost{}}
	for _, of := range []struct {
		cost   quota.Cost
		videos int // of a channel that was not looked up
	}{{e.Low, 1}, {e.High, c.limits.Uploads}} {
		addCost(of.cost, c.channel, s.Pieces)
		addCost(of.cost, c.findCost(of.videos), max(s.Pieces-len(s.Channels), 0))
		for _, videos := range s.Channels {
			if videos != NoChannel {
				addCost(of.cost, c.findCost(min(videos, c.limits.Uploads)), 1)
			}
		}
	}
	return e
}

// findCost returns the cost of finding that many videos, page by page, and of looking them up.
func (c CallCosts) findCost(videos int) quota.Cost {
	pages := max(ceilDiv(videos, c.limits.PerPage), 1) // even to find nothing takes a page
	cost := c.page.Times(int64(pages))
	addCost(cost, c.lookup, ceilDiv(videos, c.limits.IDsPerCall))
	return cost
}

// PerCall returns the most that one call draws from each pool.
func (c CallCosts) PerCall() quota.Cost {
	most := quota.Cost{}
	for _, cost := range []quota.Cost{c.channel, c.page, c.lookup} {
		for pool, amount := range cost {
			most[pool] = max(most[pool], amount)
		}
	}
	return most
}

// Likely returns how many units the open pieces will cost if they cost as much as the done ones, which have spent that
// much. It stays within the estimate, and is 0 if that is exact, or if nothing is done or open.
func (e Estimate) Likely(spent int64, done, open int) int64 {
	low, high := e.Low.MaxCharge(), e.High.MaxCharge()
	if low == high || done == 0 || open == 0 {
		return 0
	}
	return min(max(spent*int64(open)/int64(done), low), high)
}

func ceilDiv(a, b int) int { return (a + b - 1) / b }
