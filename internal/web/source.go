package web

import (
	"context"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/internal/report"
	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/httplimit"
)

// Source reads for the metrics and the status page. Its functions must be safe for concurrent use, and change
// nothing. Spent, Next, Ledger, Cost and Emergency are only called after Quota has answered.
type Source struct {
	Quota func(ctx context.Context) (report.QuotaDocument, error) // what ingest quota --json prints
	// Slots returns the slots that ingest slots --since prints, newest first.
	Slots func(ctx context.Context, since time.Time) ([]report.SlotDocument, error)
	// Spent returns the entries that quota --json prints as spent, since a time.
	Spent func(ctx context.Context, since time.Time) ([]report.SpentDocument, error)
	// Next returns the slots until a time, in the order they are due.
	Next func(ctx context.Context, until time.Time) ([]report.NextDocument, error)
	// DayPrice returns the most that a day of the schedule costs or, with every, would cost if each chart were fetched
	// so often.
	DayPrice  func(every time.Duration) (map[string]int64, error)
	Calls     func(ctx context.Context) (ingest.CallStats, error) // upstream calls of all processes; nil: not known
	Ledger    func(ctx context.Context) (report.LedgerDocument, error)
	Kept      func(ctx context.Context) (report.KeptDocument, error)
	Backup    func(ctx context.Context) (time.Time, error) // the newest; zero: none was made
	Backfills func(ctx context.Context) ([]report.BackfillDocument, error)
	// Tops returns the title of the first video in each region's newest chart.
	Tops func(ctx context.Context) (map[string]string, error)
	// Cost returns a method's cost by pool; an error if it is not known.
	Cost func(method string) (quota.Cost, error)
	// Emergency returns the amount spent since a time while the ledger could not answer.
	Emergency func(ctx context.Context, since time.Time) (quota.Cost, error)
}

// overview is a source's answers at one moment. Each part has its own error: a ledger that is down hides no chart.
type overview struct {
	at       time.Time
	quota    report.QuotaDocument
	quotaErr error
	slots    []report.SlotDocument // due within the last day, newest first
	fresh    report.Freshness
	calls    ingest.CallStats
	backup   time.Time // when ingest backup last made a copy; zero: never
	storeErr error     // of slots, fresh, calls and backup

	admitted  int64      // calls that the longest window counts
	emergency quota.Cost // within the last day
	degraded  time.Duration
}

const (
	day        = 24 * time.Hour  // how far back the metrics and the page look
	readWithin = 5 * time.Second // one overview
	readFor    = time.Second     // how long it is reused
)

// Status is what the page and the metrics show, read from a source on demand.
type Status struct {
	Now       func() time.Time
	Version   string                                          // of the program
	Moved     string                                          // says that the clock was moved; "": it was not
	Source    func() (*Source, error)                         // an error if nothing is open
	Freshness func(context.Context) (report.Freshness, error) // how old everything is
	Degraded  func() time.Duration                            // how long the ledger could not answer since this process began; nil: not known

	Limits func() httplimit.Stats // of the API's clients; nil: there are no limits

	overviews recent[overview]
	detailed  recent[details]
}

// overview reads the source, at most once per readFor.
func (s *Status) overview(ctx context.Context) (overview, error) {
	return s.overviews.get(readFor, func() (overview, error) { return s.readOverview(ctx) })
}

func (s *Status) readOverview(ctx context.Context) (overview, error) {
	source, err := s.Source()
	if err != nil {
		return overview{}, err
	}
	// The result serves every reader, so the read outlives the request that asked first.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readWithin)
	defer cancel()
	o := overview{at: s.Now().UTC()}
	if o.quota, o.quotaErr = source.Quota(ctx); o.quotaErr == nil {
		o.quota.Data = "" // visitors need not know a path of this machine
		o.emergency, o.quotaErr = source.Emergency(ctx, o.at.Add(-day))
	}
	if o.slots, o.storeErr = source.Slots(ctx, o.at.Add(-day)); o.storeErr == nil {
		o.fresh, o.storeErr = s.Freshness(ctx)
	}
	if o.storeErr == nil && source.Calls != nil {
		o.calls, o.storeErr = source.Calls(ctx)
	}
	if o.storeErr == nil && source.Backup != nil {
		o.backup, o.storeErr = source.Backup(ctx)
	}
	if o.quotaErr == nil {
		o.admitted = admitted(o.quota.Spent, source.Cost)
	}
	if s.Degraded != nil {
		o.degraded = s.Degraded()
	}
	return o, nil
}

// admitted returns how many calls, of those whose cost is known, drew what was spent.
func admitted(spent []report.SpentDocument, cost func(string) (quota.Cost, error)) int64 {
	calls := map[quota.Who]int64{}
	for _, s := range spent {
		if c, err := cost(s.Method); err == nil && c[s.Pool] > 0 {
			who := quota.Who{Purpose: s.Purpose, Region: s.Region, Method: s.Method, Client: s.Client}
			calls[who] = max(calls[who], s.Amount/c[s.Pool]) // the same in every pool that the method draws on
		}
	}
	var n int64
	for _, c := range calls {
		n += c
	}
	return n
}
