package web

import (
	"context"
	"sync"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/internal/pages"
	"github.com/trendvidstream/ingest/internal/recent"
	"github.com/trendvidstream/ingest/internal/report"
	"github.com/trendvidstream/ingest/internal/standing"
	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/httplimit"
)

// Source reads data for the metrics and the status page. Its functions must be safe for concurrent use and change
// nothing. Spent, Ledger, Cost and Emergency are only called after Quota has answered.
type Source struct {
	// Quota returns the document of ingest quota --json, and the facts behind it. It asks the ledger, and calls store,
	// which reads the store's facts or waits until they are read.
	Quota func(ctx context.Context, store func() standing.Facts) (report.QuotaDocument, standing.Facts, error)
	// Slots returns the slots that ingest slots --since prints, newest first.
	Slots func(ctx context.Context, since time.Time) ([]report.SlotDocument, error)
	// Spent returns the ledger's counts since a time. If every is not 0, each part of that length has its own.
	Spent func(ctx context.Context, since time.Time, every time.Duration) ([]quota.Spent, error)
	// DayPrice returns the highest price of a day of the schedule, by pool. If every is not 0, each chart is fetched once
	// per that interval instead.
	DayPrice  func(every time.Duration) (map[string]int64, error)
	Ledger    func(ctx context.Context) (report.LedgerDocument, error)
	Kept      func(ctx context.Context) (ingest.Kept, error)
	Backup    func(ctx context.Context) (time.Time, error) // the newest; zero: none was made
	Backfills func(ctx context.Context) ([]report.BackfillDocument, error)
	// Tops returns the title of the first video in each region's newest chart.
	Tops func(ctx context.Context) (map[string]string, error)
	// Cost returns a method's cost by pool; an error if it is not known.
	Cost func(method string) (quota.Cost, error)
	// Emergency returns the amount spent since a time while the ledger could not answer.
	Emergency func(ctx context.Context, since time.Time) (quota.Cost, error)
}

// overview is a source's answers at one moment: the status without its details. A ledger that is down hides no charts.
type overview struct {
	pages.Status

	admitted int64 // calls that the longest window counts
	degraded time.Duration
}

const (
	day        = 24 * time.Hour  // how far back the metrics and the page look
	readWithin = 5 * time.Second // one overview
	readFor    = time.Second     // how long it is reused
)

// Status is the content of the page and the metrics, read from a source on demand.
type Status struct {
	Now      func() time.Time
	Version  string                               // of the program
	Source   func() (*Source, error)              // an error if nothing is open
	Facts    func(context.Context) standing.Facts // the store's slots
	Degraded func() time.Duration                 // how long this process has seen the ledger fail; nil: not known

	Limits *httplimit.Limiter // of the API's clients; nil: there are no limits

	overviews recent.Answers[overview]
	detailed  recent.Answers[details]
}

// overview reads the source, at most once per readFor. It reports unreadable parts as errors in the result. Nothing
// is read for a request whose time is up.
func (s *Status) overview(ctx context.Context) overview {
	unknown := func(err error) overview {
		return overview{Status: pages.Status{At: s.Now().UTC(),
			Situation: report.Situation{Standing: standing.At(standing.Facts{Now: s.Now(), LedgerErr: err, StoreErr: err})}}}
	}
	if err := ctx.Err(); err != nil {
		if kept, ok := s.overviews.Kept(""); ok {
			return kept
		}
		return unknown(err)
	}
	o, _ := s.overviews.Get("", func() recent.Answer[overview] {
		source, err := s.Source()
		if err != nil {
			return recent.Answer[overview]{Is: unknown(err)}
		}
		ctx, cancel := shared(ctx)
		defer cancel()
		return recent.Answer[overview]{Is: s.readOverview(ctx, source), Until: time.Now().Add(readFor)}
	})
	return o
}

// shared returns a context for a read that serves every reader. The end of the first request does not cancel it, but
// that request's deadline does (readWithin if it has none).
func shared(ctx context.Context) (context.Context, context.CancelFunc) {
	until, ok := ctx.Deadline()
	if !ok {
		until = time.Now().Add(readWithin)
	}
	return context.WithDeadline(context.WithoutCancel(ctx), until)
}

func (s *Status) readOverview(ctx context.Context, source *Source) overview {
	o := overview{Status: pages.Status{At: s.Now().UTC()}}
	store := sync.OnceValue(func() standing.Facts { return s.Facts(ctx) })
	var left, facts standing.Facts
	together(func() {
		spent, read, err := source.Quota(ctx, store)
		if err == nil {
			spent.Data = "" // visitors need not know a path of this machine
			// A local file has the amount: it is read even if a hanging store has used up the request's time.
			o.Emergency, err = source.Emergency(context.WithoutCancel(ctx), o.At.Add(-day))
		}
		if left = read; err == nil {
			o.Quota, o.admitted = &spent, admitted(spent.Spent, source.Cost)
		}
		left.LedgerErr = err
	}, func() {
		var err error
		if o.Slots, err = source.Slots(ctx, o.At.Add(-day)); err == nil {
			facts = store()
			err = facts.StoreErr
		}
		if err == nil && source.Backup != nil {
			o.Backup, err = source.Backup(ctx)
		}
		facts.StoreErr = err
	})
	facts.Report, facts.LedgerErr, facts.Forecast, facts.Next, facts.LedgerAge = left.Report,
		left.LedgerErr, left.Forecast, left.Next, 0
	if left.LedgerErr == nil {
		facts.Pace = left.Pace
	}
	o.stand(facts)
	if s.Degraded != nil {
		o.degraded = s.Degraded()
	}
	return o
}

// stand sets the standing and the freshness from the facts.
func (o *overview) stand(f standing.Facts) {
	if o.Standing, o.Fresh = standing.At(f), nil; f.StoreErr == nil {
		o.Fresh = new(report.NewFreshness(o.Standing))
	}
}

// together reads parts of one answer at the same time. No part writes data that another one reads. If a
// part panics, together panics in the caller, so that only the request ends and not the process.
func together(parts ...func()) {
	var reading sync.WaitGroup
	panics := make(chan any, len(parts))
	for _, part := range parts {
		reading.Go(func() {
			defer func() {
				if p := recover(); p != nil {
					panics <- p
				}
			}()
			part()
		})
	}
	reading.Wait()
	if len(panics) > 0 {
		panic(<-panics)
	}
}

// admitted returns the number of calls behind the spends. It leaves out methods whose cost is not known.
func admitted(spent []report.SpentDocument, cost func(string) (quota.Cost, error)) int64 {
	calls := map[quota.Who]int64{}
	for _, s := range spent {
		if c, err := cost(s.Method); err == nil && c[s.Pool] > 0 {
			who := quota.Who{Purpose: s.Purpose, Region: s.Region, Method: s.Method, Client: s.Client}
			calls[who] = max(calls[who], s.Amount/c[s.Pool]) // the same in every pool that the method is charged to
		}
	}
	var n int64
	for _, c := range calls {
		n += c
	}
	return n
}
