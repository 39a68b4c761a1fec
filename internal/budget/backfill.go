package budget

import (
	"fmt"
	"slices"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/fetch"
	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/regions"
)

// CallCosts are the costs of a backfill's calls. Estimate makes a price of them and of a Size.
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
	for into, method := range map[*quota.Cost]string{&c.channel: calls.Channel, &c.page: calls.Page,
		&c.lookup: calls.Lookup} {
		if method == "" {
			continue
		}
		if *into, err = t.Cost(method); err != nil {
			return c, fmt.Errorf("price a backfill of kind %s: %w", kind, err)
		}
	}
	return c, nil
}

// Size is how much there is to fetch, as far as it is known. Estimate assumes the rest.
type Size struct {
	Pieces       int            // still to do
	Channels     []int          // how many videos each channel has after its look-up, or NoChannel
	Open, Listed []ingest.Piece // of a search: pieces still to do, and pieces already listed
}

// NoChannel is the size of a channel that does not exist: the call that looks for it still costs quota.
const NoChannel = -1

// Estimate is the price of a backfill: between Low and High, which are equal if everything is known. A run stops at
// High unless it asks again.
type Estimate struct {
	Low, High Bill
	likely    int64 // units; 0: not known
}

// Bill is the cost of calls. Its units are each call's charge to its most expensive pool.
type Bill struct {
	Cost    quota.Cost
	Units   int64
	Lookups int // calls that fetch videos; a later refresh takes as many
}

func (b *Bill) add(call quota.Cost, n int) {
	b.Cost.Add(call, int64(n))
	b.Units += call.MaxCharge() * int64(n)
}

// Estimate prices the remaining work.
func (c CallCosts) Estimate(s Size) Estimate {
	e := Estimate{Low: Bill{Cost: quota.Cost{}}, High: Bill{Cost: quota.Cost{}}}
	both := []*Bill{&e.Low, &e.High}
	switch c.kind {
	case ingest.BackfillUploads: // channels of known size cost that size, the others a range
		unknown := max(s.Pieces-len(s.Channels), 0)
		c.find(&e.Low, 1, unknown)
		c.find(&e.High, c.limits.Uploads, unknown)
		for _, bill := range both {
			bill.add(c.channel, s.Pieces)
			for _, videos := range s.Channels {
				if videos != NoChannel {
					c.find(bill, min(videos, c.limits.Uploads), 1)
				}
			}
		}
	case ingest.BackfillSearch:
		c.find(&e.Low, 1, s.Pieces)
		most := c.limits.SearchPages * c.limits.PerPage
		density := c.density(s.Listed)
		if density == 0 {
			c.find(&e.High, most, s.Pieces)
			break
		}
		for _, p := range s.Open {
			n := int(density * p.Spec.Before.Sub(p.Spec.After).Hours())
			likely := Bill{Cost: quota.Cost{}}
			c.find(&likely, n, 1)
			e.likely += likely.Units
			c.find(&e.High, max(n*3/2, most), 1)
		}
	default: // a piece has as many ids as one call looks up
		for _, bill := range both {
			bill.add(c.lookup, s.Pieces)
			bill.Lookups = s.Pieces
		}
	}
	return e
}

// density returns how many videos per hour a search has found; 0: not known. A slice that was full counts only the time
// down to its last result.
func (c CallCosts) density(listed []ingest.Piece) float64 {
	found, hours := 0, 0.0
	for _, p := range listed {
		from := p.Spec.After
		if p.Listing.Found >= c.limits.SearchPages*c.limits.PerPage*4/5 && p.Listing.Last.After(from) {
			from = p.Listing.Last
		}
		found += p.Listing.Found
		hours += p.Spec.Before.Sub(from).Hours()
	}
	if hours == 0 {
		return 0
	}
	return float64(found) / hours
}

// find adds the calls that find that many videos page by page and look them up, repeated that many times.
func (c CallCosts) find(bill *Bill, videos, times int) {
	lookups := times * ceilDiv(videos, c.limits.IDsPerCall)
	bill.add(c.page, times*max(ceilDiv(videos, c.limits.PerPage), 1)) // finding nothing takes a page too
	bill.add(c.lookup, lookups)
	bill.Lookups += lookups
}

// Range is the least and the most that something costs or takes.
type Range struct {
	Low  int64 `json:"low"`
	High int64 `json:"high"`
}

// Upkeep is the later cost of the videos still to come, and after how many days videos that are no longer found are
// deleted.
type Upkeep struct {
	Rule ingest.Upkeep `json:"rule"` // "": refreshed once, then as long as they are found again
	// to fetch each again, once or every 25 days; zero without a refresh job
	RefreshUnits Range `json:"refresh_units"`
	// a day, for their counts, from the pool batch_stats; zero if videos are not counted
	CountCalls   Range `json:"count_calls"`
	DeletedAfter int   `json:"deleted_after_days"` // 0: never, they are kept fresh
}

// Upkeep returns the upkeep of the videos in an estimate.
func (s PricedSchedule) Upkeep(rule ingest.Upkeep, e Estimate) Upkeep {
	u := Upkeep{Rule: rule, DeletedAfter: int(ingest.KeepFor / day)}
	if !slices.ContainsFunc(s.Jobs, func(j regions.JobSchedule) bool { return j.Job.Kind == ingest.KindRefresh }) {
		return u
	}
	times := func(cost quota.Cost) Range {
		return Range{cost.MaxCharge() * int64(e.Low.Lookups), cost.MaxCharge() * int64(e.High.Lookups)}
	}
	counts, _ := s.CountCost()
	u.CountCalls = times(counts)
	if rule == ingest.LetGo {
		return u
	}
	videos, _ := s.Tariff.Cost(s.Upstream.Videos(nil).Method) // a call without a price is never made
	u.RefreshUnits, u.DeletedAfter = times(videos), int((ingest.RefreshAfter+ingest.KeepFor)/day)
	if rule == ingest.KeepFresh {
		u.DeletedAfter = 0
	}
	return u
}

// CountCost returns the cost of a call that fetches only counts. ok is false unless the upstream has such a call and
// the table charges it to a pool that videos do not use.
func (s PricedSchedule) CountCost() (_ quota.Cost, ok bool) {
	c, ok := s.Upstream.(fetch.Counter)
	if !ok {
		return nil, false
	}
	counts, err := s.Tariff.Cost(c.Counts(nil).Method)
	videos, otherErr := s.Tariff.Cost(s.Upstream.Videos(nil).Method)
	if err != nil || otherErr != nil {
		return nil, false
	}
	for pool := range counts {
		if _, shared := videos[pool]; shared {
			return nil, false
		}
	}
	return counts, true
}

// PerCall returns the most that one call charges to each pool.
func (c CallCosts) PerCall() quota.Cost {
	most := quota.Cost{}
	for _, cost := range []quota.Cost{c.channel, c.page, c.lookup} {
		for pool, amount := range cost {
			most[pool] = max(most[pool], amount)
		}
	}
	return most
}

// Likely returns how many units the open pieces will cost: by how much was found in how much time or, without that, as
// if they cost as much as the done pieces, which have spent that much. It stays within the estimate, and is 0 if the
// estimate is exact or nothing is done or open.
func (e Estimate) Likely(spent int64, done, open int) int64 {
	if e.Low.Units == e.High.Units || done == 0 || open == 0 {
		return 0
	}
	likely := e.likely
	if likely == 0 {
		likely = spent * int64(open) / int64(done)
	}
	return min(max(likely, e.Low.Units), e.High.Units)
}

func ceilDiv(a, b int) int { return (a + b - 1) / b }
