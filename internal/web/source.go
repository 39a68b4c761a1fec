package web

import (
	"context"
	"time"

	"github.com/trendvidstream/ingest/quota"
)

// Source reads what the metrics and the status page show. Its functions must be safe for concurrent use, and change
// nothing.
type Source struct {
	Quota func(ctx context.Context) (QuotaDocument, error) // what ingest quota --json prints
	// Slots are what ingest slots --since prints, newest first.
	Slots func(ctx context.Context, since time.Time) ([]SlotDocument, error)
	// Cost is what a call of a method draws; an error where that is not known.
	Cost func(method string) (quota.Cost, error)
	// Emergency is what went on, since then, while the ledger could not answer.
	Emergency func(ctx context.Context, since time.Time) (quota.Cost, error)
}

// overview is what a source says at one moment. Each part has its own error: a ledger that is down hides no chart.
type overview struct {
	at       time.Time
	quota    QuotaDocument
	quotaErr error
	slots    []SlotDocument // due within the last day, newest first
	fresh    Freshness
	storeErr error // of slots and fresh

	admitted  int64      // calls that the longest window counts
	emergency quota.Cost // within the last day
	degraded  time.Duration
}

const (
	day        = 24 * time.Hour  // how far back the metrics and the page look
	readWithin = 5 * time.Second // one overview
)

// overview asks the source, at most once in rereadAfter however many look.
func (s *Site) overview(ctx context.Context) (overview, error) {
	s.reading.Lock()
	defer s.reading.Unlock()
	if !s.readAt.IsZero() && time.Since(s.readAt) < rereadAfter {
		return s.last, nil
	}
	source, err := s.Source()
	if err != nil {
		return overview{}, err
	}
	// Whoever asked first may go away: what is read is for all.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readWithin)
	defer cancel()
	o := overview{at: s.Now().UTC()}
	if o.quota, o.quotaErr = source.Quota(ctx); o.quotaErr == nil {
		o.emergency, o.quotaErr = source.Emergency(ctx, o.at.Add(-day))
	}
	if o.slots, o.storeErr = source.Slots(ctx, o.at.Add(-day)); o.storeErr == nil {
		o.fresh, o.storeErr = s.Freshness(ctx)
	}
	o.admitted = admitted(o.quota.Spent, source.Cost)
	if s.Degraded != nil {
		o.degraded = s.Degraded()
	}
	s.last, s.readAt = o, time.Now()
	return o, nil
}

// admitted is how many calls, of those whose cost is known, drew what was spent.
func admitted(spent []SpentDocument, cost func(string) (quota.Cost, error)) int64 {
	calls := map[quota.Who]int64{}
	for _, s := range spent {
		if c, err := cost(s.Method); err == nil && c[s.Pool] > 0 {
			who := quota.Who{Purpose: s.Purpose, Region: s.Region, Method: s.Method}
			calls[who] = max(calls[who], s.Amount/c[s.Pool]) // the same in every pool that the method draws of
		}
	}
	var n int64
	for _, c := range calls {
		n += c
	}
	return n
}
