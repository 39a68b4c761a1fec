package web

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/httplimit"
)

// Source reads what the metrics and the status page show. Its functions must be safe for concurrent use, and change
// nothing.
type Source struct {
	Quota func(ctx context.Context) (QuotaDocument, error) // what ingest quota --json prints
	// Slots are what ingest slots --since prints, newest first.
	Slots func(ctx context.Context, since time.Time) ([]SlotDocument, error)
	// Spent is what quota --json prints as spent, since then.
	Spent func(ctx context.Context, since time.Time) ([]SpentDocument, error)
	// Next are the slots until then, in the order in which they are due.
	Next func(ctx context.Context, until time.Time) ([]NextDocument, error)
	// DayPrice is what a day of the schedule costs, at most; with every, if each chart were fetched so often.
	DayPrice  func(every time.Duration) (map[string]int64, error)
	Calls     func(ctx context.Context) (ingest.Calls, error) // what the upstream was asked, by all processes; nil: not known
	Ledger    func(ctx context.Context) (LedgerDocument, error)
	Oldest    func(ctx context.Context) (time.Time, error) // of what is stored, by day; zero: nothing is
	Backup    func(ctx context.Context) (time.Time, error) // the newest; zero: none was made
	Backfills func(ctx context.Context) ([]BackfillDocument, error)
	// Search finds what is stored, as ingest search does; hint is why nothing was searched for, "" where something was.
	Search func(ctx context.Context, query string) (doc SearchDocument, hint string, err error)
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
	calls    ingest.Calls
	storeErr error // of slots, fresh and calls

	admitted  int64      // calls that the longest window counts
	emergency quota.Cost // within the last day
	degraded  time.Duration
}

const (
	day        = 24 * time.Hour  // how far back the metrics and the page look
	readWithin = 5 * time.Second // one overview
	readFor    = time.Second     // how long it is shown
)

// Status is what the page and the metrics show, read from a source when somebody asks.
type Status struct {
	Now       func() time.Time
	Version   string                                   // of the program
	Moved     string                                   // says that the clock was moved; "": it was not
	Source    func() (*Source, error)                  // an error where nothing is open
	Freshness func(context.Context) (Freshness, error) // how old everything is
	Degraded  func() time.Duration                     // how long the ledger could not answer since this process began; nil: not known

	Limits func() httplimit.Stats // of the API's clients; nil: there are no limits

	reading     sync.Mutex
	last        overview
	readAt      time.Time // of last; zero: never
	lastDetails details
	detailsAt   time.Time

	streams atomic.Int32 // of events, open
}

// overview asks the source, at most once in readFor however many look.
func (s *Status) overview(ctx context.Context) (overview, error) {
	s.reading.Lock()
	defer s.reading.Unlock()
	if !s.readAt.IsZero() && time.Since(s.readAt) < readFor {
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
		o.quota.Data = "" // a path of this machine is nobody's business
		o.emergency, o.quotaErr = source.Emergency(ctx, o.at.Add(-day))
	}
	if o.slots, o.storeErr = source.Slots(ctx, o.at.Add(-day)); o.storeErr == nil {
		o.fresh, o.storeErr = s.Freshness(ctx)
	}
	if o.storeErr == nil && source.Calls != nil {
		o.calls, o.storeErr = source.Calls(ctx)
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
