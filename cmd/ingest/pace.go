package main

import (
	"context"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/internal/budget"
	"github.com/trendvidstream/ingest/internal/report"
	"github.com/trendvidstream/ingest/internal/term"
	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/store"
)

// paceNow returns a schedule at its present pace, and when the newest slot of each series was due. Nothing is paced while
// the store or the ledger cannot be read; an error is one of the store.
func (a *app) paceNow(ctx context.Context, schedule budget.PricedSchedule, s *store.Store, report func(context.Context) (quota.Report, error)) (budget.Pace, map[ingest.Series]time.Time, error) {
	pace := budget.Pace{Schedule: schedule.Jobs}
	if !a.cfg.Pacing || s == nil {
		return pace, nil, nil
	}
	known, err := s.Newest(ctx, a.clock.Now())
	if err != nil {
		return pace, nil, err
	}
	if r, err := report(ctx); err == nil {
		pace = schedule.Pace(r, known, a.clock.Now())
	}
	return pace, known, nil
}

// reported returns a report that was read already.
func reported(r quota.Report) func(context.Context) (quota.Report, error) {
	return func(context.Context) (quota.Report, error) { return r, nil }
}

// openPace is paceNow of the configured jobs, for a command that opened nothing yet.
func (a *app) openPace(ctx context.Context) (pace budget.Pace, known map[ingest.Series]time.Time, err error) {
	schedule, err := a.schedule()
	if err != nil {
		return pace, nil, err
	}
	s, err := a.store(ctx, "")
	if err == nil { // else nothing was fetched yet
		defer func() { _ = s.Close() }()
	}
	pace, known, _ = a.paceNow(ctx, schedule, s, func(ctx context.Context) (r quota.Report, err error) {
		err = a.withReadOnlyLedger(ctx, func(ctx context.Context, l *ledger) (err error) {
			r, err = l.Report(ctx)
			return err
		})
		return r, err
	})
	return pace, known, nil
}

// nextSlots returns the slots until then at the present pace, with their costs. Nothing is paced without a store.
func (a *app) nextSlots(ctx context.Context, l *ledger, s *store.Store, until time.Time) ([]report.NextDocument, error) {
	schedule, err := a.schedule()
	if err != nil {
		return nil, err
	}
	pace, known, err := a.paceNow(ctx, schedule, s, l.Report)
	if err != nil {
		return nil, err
	}
	slots, err := schedule.NextAt(pace, known, a.clock.Now(), until)
	docs := make([]report.NextDocument, 0, len(slots))
	for _, n := range slots {
		docs = append(docs, report.NextDocument{Job: n.Job, Region: n.Key, DueAt: term.Second(n.DueAt), Cost: n.Cost})
	}
	return docs, err
}
