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

// pacer returns what stretches the schedule to the quota that is left. Nothing is paced without a store.
func (a *app) pacer(schedule budget.Schedule, s *store.Store, report func(context.Context) (quota.Report, error)) budget.Pacer {
	return budget.Pacer{Schedule: schedule, Report: report, Off: s == nil || !a.cfg.Pacing, Moves: a.moves(s)}
}

// moves returns how fast the charts in a store move, nil if that does not matter.
func (a *app) moves(s *store.Store) func(context.Context, string) ([]ingest.ChartMove, error) {
	if !a.cfg.Worth || s == nil {
		return nil
	}
	return func(ctx context.Context, job string) ([]ingest.ChartMove, error) {
		return s.ChartMoves(ctx, job, a.clock.Now())
	}
}

// paceNow returns the schedule at its present pace and, if it may be paced, when the newest slot of each series was due.
// Nothing is paced while the store or the ledger cannot be read.
func (a *app) paceNow(ctx context.Context, p budget.Pacer, s *store.Store) (pace budget.Pacing, known map[ingest.Series]time.Time) {
	if !p.Off {
		var err error
		known, err = s.Newest(ctx, a.clock.Now())
		p.Off = err != nil
	}
	return p.Now(ctx, known, a.clock.Now()), known
}

// pacing is paceNow of the configured jobs, for a command that opened nothing yet.
func (a *app) pacing(ctx context.Context) (pace budget.Pacing, known map[ingest.Series]time.Time, err error) {
	schedule, err := a.schedule()
	if err != nil {
		return pace, nil, err
	}
	s, err := a.store(ctx, "")
	if err == nil { // else nothing was fetched yet
		defer func() { _ = s.Close() }()
	}
	pace, known = a.paceNow(ctx, a.pacer(schedule, s, func(ctx context.Context) (r quota.Report, err error) {
		err = a.withReadOnlyLedger(ctx, func(ctx context.Context, l *ledger) (err error) {
			r, err = l.Report(ctx)
			return err
		})
		return r, err
	}), s)
	return pace, known, nil
}

// nextSlots returns the slots until then at the present pace, with their costs. Nothing is paced without a store.
func (a *app) nextSlots(ctx context.Context, l *ledger, s *store.Store, until time.Time) ([]report.NextDocument, error) {
	schedule, err := a.schedule()
	if err != nil {
		return nil, err
	}
	pacer, now := a.pacer(schedule, s, l.Report), a.clock.Now()
	var known map[ingest.Series]time.Time
	if !pacer.Off {
		if known, err = s.Newest(ctx, now); err != nil {
			return nil, err
		}
	}
	slots, err := pacer.Next(ctx, known, now, until)
	docs := make([]report.NextDocument, 0, len(slots))
	for _, n := range slots {
		docs = append(docs, report.NextDocument{Job: n.Job, Region: n.Key, DueAt: term.Second(n.DueAt), Cost: n.Cost})
	}
	return docs, err
}
