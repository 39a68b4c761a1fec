package main

import (
	"fmt"
	"time"

	"github.com/trendvidstream/ingest/internal/config"

	"github.com/trendvidstream/ingest/internal/term"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/fetch"
	"github.com/trendvidstream/ingest/quota"
)

// backfillPrice is what a backfill costs: between low and high, the same where all is known.
type backfillPrice struct {
	low, high quota.Cost
	assuming  string // where they differ: of what low and high are the price
}

// tolls are what the calls of a backfill cost.
type tolls struct {
	find, page, look quota.Cost // find a channel; a page of uploads or of a search; one look-up
	limits           fetch.Limits
}

// tollsOf prices the calls that a kind makes. An upstream that cannot make them is refused.
func tollsOf(kind ingest.BackfillKind, up fetch.Upstream, tariff *quota.Tariff) (t tolls, err error) {
	t.limits = up.Limits()
	calls, err := fetch.BackfillCalls(up, kind)
	if err != nil {
		return t, config.Invalid(fmt.Errorf("upstream %s: %w", tariff.Upstream, err))
	}
	for into, method := range map[*quota.Cost]string{&t.find: calls.Channel, &t.page: calls.Page, &t.look: calls.Lookup} {
		if method == "" {
			continue
		}
		if *into, err = tariff.Cost(method); err != nil {
			return t, fmt.Errorf("price a backfill of kind %s: %w", kind, err)
		}
	}
	return t, nil
}

// size is how much there is to fetch, as far as it is known.
type size struct {
	pieces int   // that are to do
	sizes  []int // of channels that were asked: their videos, or noChannel
}

// noChannel is the size of a channel that does not exist: it costs the call that looks for it.
const noChannel = -1

// price is what so much costs. Ids are looked up 50 to a piece, so that a piece of them is a call.
func (t tolls) price(kind ingest.BackfillKind, s size) backfillPrice {
	switch kind {
	case ingest.BackfillUploads:
		return t.uploads(s)
	case ingest.BackfillSearch:
		results := t.limits.SearchPages * t.limits.PerPage
		least, most := t.found(1), t.found(results)
		return backfillPrice{
			times(least, s.pieces), times(most, s.pieces),
			fmt.Sprintf("each slice of time finds 1 to %d videos; one that finds more is split in two, which costs more", results),
		}
	default:
		all := times(t.look, s.pieces)
		return backfillPrice{low: all, high: all}
	}
}

// uploads prices the channels whose size is known by it, the others by a range.
func (t tolls) uploads(s size) backfillPrice {
	known := quota.Cost{}
	for _, videos := range s.sizes {
		add(known, t.find, 1)
		if videos != noChannel {
			add(known, t.found(min(videos, t.limits.Uploads)), 1)
		}
	}
	p := backfillPrice{low: known, high: times(known, 1)}
	if unknown := s.pieces - len(s.sizes); unknown > 0 {
		p.assuming = fmt.Sprintf("each channel has 1 to %s videos; plan with --ask asks them, for a call each", term.Thousands(int64(t.limits.Uploads)))
		for _, of := range []struct {
			cost   quota.Cost
			videos int
		}{{p.low, 1}, {p.high, t.limits.Uploads}} {
			add(of.cost, t.find, unknown)
			add(of.cost, t.found(of.videos), unknown)
		}
	}
	return p
}

// found is what it costs to find so many videos, page by page, and to look them up.
func (t tolls) found(videos int) quota.Cost {
	pages := max((videos+t.limits.PerPage-1)/t.limits.PerPage, 1) // a page says that there is nothing
	cost := times(t.page, pages)
	add(cost, t.look, (videos+t.limits.IDsPerCall-1)/t.limits.IDsPerCall)
	return cost
}

// dearest is what a call draws of each pool at most.
func (t tolls) dearest() quota.Cost {
	dearest := quota.Cost{}
	for _, c := range []quota.Cost{t.find, t.page, t.look} {
		for pool, amount := range c {
			dearest[pool] = max(dearest[pool], amount)
		}
	}
	return dearest
}

func times(c quota.Cost, n int) quota.Cost { return c.Times(int64(n)) }

// add adds n times a cost to another.
func add(to, c quota.Cost, n int) {
	for pool, amount := range c {
		to[pool] += amount * int64(n)
	}
}

// most is the largest of a cost's amounts: the figure that a person knows it by.
func most(c quota.Cost) int64 {
	largest := int64(0)
	for _, amount := range c {
		largest = max(largest, amount)
	}
	return largest
}

// timeSlices cuts [from, to) into pieces of at most so long each, all equally long but for a second.
func timeSlices(from, to time.Time, each time.Duration) []ingest.Piece {
	span := to.Sub(from) / time.Second
	n := max((span+each/time.Second-1)/(each/time.Second), 1)
	var pieces []ingest.Piece
	for i := range n {
		pieces = append(pieces, ingest.Slice(from.Add(span*i/n*time.Second), from.Add(span*(i+1)/n*time.Second)))
	}
	return pieces
}
