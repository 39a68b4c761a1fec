package ingest_test

import (
	"testing"
	"time"

	"github.com/trendvidstream/ingest"
)

func TestSlicesCoverTheSpanOnce(t *testing.T) {
	const day = 24 * time.Hour
	from := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		span, each time.Duration
		n          int
	}{
		{7 * day, 7 * day, 1},
		{7*day + time.Second, 7 * day, 2},
		{30 * day, 7 * day, 5},
		{time.Second, time.Hour, 1},
		{100 * time.Second, 7 * time.Second, 15},
	} {
		pieces := ingest.Slices(from, from.Add(c.span), c.each)
		at := from
		for _, p := range pieces {
			if !p.Spec.After.Equal(at) || !p.Spec.Before.After(at) || p.Spec.Before.Sub(at) > c.each {
				t.Errorf("%v by %v: a slice from %v to %v behind %v", c.span, c.each, p.Spec.After, p.Spec.Before, at)
			}
			at = p.Spec.Before
		}
		if len(pieces) != c.n || !at.Equal(from.Add(c.span)) {
			t.Errorf("%v by %v: %d slices until %v", c.span, c.each, len(pieces), at)
		}
	}
}

func TestTheStateOfAPlanFollowsFromItsPieces(t *testing.T) {
	for _, c := range []struct {
		pieces    map[ingest.State]int
		cancelled bool
		want      ingest.State
	}{
		{nil, false, ingest.Done}, // there was nothing to fetch
		{map[ingest.State]int{ingest.Due: 3}, false, ingest.Due},
		{map[ingest.State]int{ingest.Due: 3, ingest.Done: 1, ingest.Failed: 1}, false, ingest.Due},
		{map[ingest.State]int{ingest.Due: 3, ingest.Stopped: 1}, false, ingest.Stopped},
		{map[ingest.State]int{ingest.Due: 3, ingest.Stopped: 1, ingest.Claimed: 1}, false, ingest.Claimed},
		{map[ingest.State]int{ingest.Done: 3}, false, ingest.Done},
		{map[ingest.State]int{ingest.Done: 3, ingest.Failed: 1}, false, ingest.Failed},
		{map[ingest.State]int{ingest.Done: 3, ingest.Claimed: 1, ingest.Skipped: 4}, true, ingest.Skipped},
	} {
		b := ingest.Backfill{}
		if c.cancelled {
			b.Cancelled = time.Unix(1, 0)
		}
		if got := b.State(c.pieces); got != c.want {
			t.Errorf("%v, cancelled %v: %s, want %s", c.pieces, c.cancelled, got, c.want)
		}
	}
}
