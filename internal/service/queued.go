package service

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/fetch"

	"github.com/trendvidstream/ingest/internal/standing"
)

// pumpUnits is the most that one job of a backfill spends, so that none lasts long and all take turns.
const pumpUnits = 200

// Queued is the work that the jobs of a queue do for a service, if many machines share the queue.
type Queued struct {
	service    *Service
	runtime    *Runtime
	reconciler *fetch.Reconciler
	scan       fetch.DueScan // of all passes, which may follow each other a hundred times a second
}

func (s *Service) queued(r *Runtime) *Queued {
	rec := s.reconciler(r)
	rec.Workers = 1 // the queue starts the others
	var one sync.Mutex
	rec.OnSlot = func(result ingest.SlotResult) { one.Lock(); defer one.Unlock(); s.onSlot(result) }
	rec.OnPause = func(err error) { one.Lock(); defer one.Unlock(); s.onPause(err) }
	return &Queued{service: s, runtime: r, reconciler: rec}
}

// Reconcile adds the slots that are due, and returns the slots that may be claimed and the backfills that wait.
func (q *Queued) Reconcile(ctx context.Context) (slots []ingest.SlotKey, backfills []string, err error) {
	if slots, err = q.reconciler.Due(ctx); err != nil {
		return nil, nil, q.reportEnd(ctx, err)
	}
	waiting, err := q.runtime.Store.WaitingBackfills(ctx)
	for _, b := range waiting {
		backfills = append(backfills, b.ID)
	}
	return slots, backfills, q.reportEnd(ctx, err)
}

// Pass claims and passes the open slot of the slot's series, if there is one, which may be newer by now.
func (q *Queued) Pass(ctx context.Context, slot ingest.SlotKey) error {
	_, err := q.reconciler.Run(ctx, fetch.RunOptions{Series: []ingest.Series{slot.Series()}, DueScan: &q.scan})
	return q.reportEnd(ctx, err)
}

// Pump works on some pieces of a backfill.
func (q *Queued) Pump(ctx context.Context, id string) (more bool, err error) {
	waiting, err := q.runtime.Store.WaitingBackfills(ctx)
	if err != nil {
		return false, q.reportEnd(ctx, err)
	}
	for _, b := range waiting {
		if b.ID == id {
			return q.pump(ctx, b)
		}
	}
	return false, nil
}

func (q *Queued) pump(ctx context.Context, b ingest.Backfill) (more bool, err error) {
	reserve, err := q.runtime.Reserve(ctx)
	if err != nil {
		return false, q.reportEnd(ctx, err)
	}
	rec := *q.reconciler
	rec.Reserve = reserve
	ended, err := rec.Run(ctx, fetch.RunOptions{Backfill: &b, MaxUnits: pumpUnits})
	spent := int64(0)
	for _, piece := range ended {
		spent += piece.Spent
	}
	if errors.Is(err, fetch.ErrMaxUnits) {
		return spent > 0, nil // otherwise pumpUnits may be less than one call costs
	}
	return false, q.reportEnd(ctx, err)
}

// reportEnd tells the service how a job has ended: the service, not the queue, judges that. MayWork judges the
// conditions that keep this machine from working.
func (q *Queued) reportEnd(ctx context.Context, err error) error {
	if _, apart := errors.AsType[*ingest.ClockApart](err); ctx.Err() == nil && !apart {
		q.reconciler.OnPause(err)
	}
	return err
}

// MayWork returns why this machine must leave the queue to the others, and makes the service say so. An unknown
// reason, as a database that does not answer, is an error. A ledger whose clock is apart is no reason of its own: if
// this machine's clock agrees with the database's clock, the ledger's clock is wrong, for all machines.
func (q *Queued) MayWork(ctx context.Context) (why, err error) {
	st := q.service.state.read()
	switch {
	case st.keyPaused():
		why = st.keyErr
	case st.ledgerErr != nil && standing.NothingGoesOn(st.report.EmergencyLeft):
		why = fmt.Errorf("the ledger cannot answer, and nothing may be spent without it: %w", st.ledgerErr)
	default:
		why, err = q.runtime.MayWork(ctx)
	}
	if err == nil {
		q.service.setIdle(ctx, q.runtime, why)
	}
	return why, err
}

// setIdle notes why this machine leaves the queue to the others, or that it works again, and reports that at every
// heartbeat. Only a change is logged.
func (s *Service) setIdle(ctx context.Context, r *Runtime, why error) {
	before, tell := error(nil), false
	s.state.update(func(st *state) {
		before = st.idle
		st.idle = why
		if tell = (why == nil) != (before == nil) || why != nil && time.Since(st.idleReported) >= s.heartbeat; tell {
			st.idleReported = time.Now()
		}
		if why != nil {
			st.busySince, st.paused = time.Time{}, true
		}
	})
	switch {
	case why != nil && before == nil:
		s.log.ErrorContext(ctx, "this machine does not work: it leaves everything to the others until it may",
			slog.Any("error", why))
	case why == nil && before != nil:
		s.log.WarnContext(ctx, "this machine works again", slog.Any("was", before))
	}
	if (why == nil) != (before == nil) {
		s.state.update(func(st *state) { st.news = true })
		s.askMaintenance()
	}
	if tell && r.ReportIdle != nil {
		if err := r.ReportIdle(ctx, why); err != nil && ctx.Err() == nil {
			s.log.WarnContext(ctx, "the other machines do not know whether this one works", slog.Any("error", err))
		}
	}
}
