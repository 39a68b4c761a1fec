package main

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/trendvidstream/ingest"
)

// carryRestMost is the longest pause until backfills that found the upstream at fault are tried again: the
// first is a heartbeat, each next one twice as long. A try may cost some searches.
const carryRestMost = time.Hour

// carryOn works on the backfills that were run with --wait, whenever quota allows and until ctx is done: it
// looks at every heartbeat, and that costs a look at the table of slots. The schedule has its own workers,
// and what the takes of a backfill leave for it.
func (s *service) carryOn(ctx context.Context) {
	tick := time.NewTicker(s.heartbeat)
	defer tick.Stop()
	var next time.Time
	for failed := 0; ctx.Err() == nil; {
		if !time.Now().Before(next) {
			err := s.carryOnce(ctx)
			if err == nil {
				failed = 0
			} else if ctx.Err() == nil {
				pause := min(s.heartbeat<<min(failed, 10), carryRestMost)
				failed, next = failed+1, time.Now().Add(pause-s.heartbeat/2) // the tick itself may come a little early
				s.log.WarnContext(ctx, "the backfills rest", slog.Duration("for", pause), slog.Any("error", err))
				s.mu.Lock()
				s.noteKey(err)
				s.mu.Unlock()
			}
		}
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
}

// carryOnce works on what waits until it is done or quota is refused.
func (s *service) carryOnce(ctx context.Context) error {
	w := s.opened()
	if w == nil || s.keyRefused() {
		return nil
	}
	waiting, err := w.store.WaitingBackfills(ctx)
	if err != nil || len(waiting) == 0 {
		return err
	}
	keep, err := s.keeper(ctx, w)
	if err != nil {
		return err
	}
	rec := w.reconciler(s.app)
	rec.Log, rec.Workers = warningsOnly(s.log), s.cfg.Concurrency
	rec.Leave = keep.leave
	worked, err := rec.CarryOn(ctx, waiting)
	done := map[string]int{}
	for _, piece := range worked {
		if id, ok := ingest.IsBackfillJob(piece.Job); ok && piece.State == ingest.Done {
			done[id]++
		}
	}
	for id, n := range done {
		s.log.InfoContext(ctx, "backfill carried on", slog.String("backfill", id), slog.Int("pieces", n))
	}
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// keyRefused reports whether it is not yet time to try a refused key again.
func (s *service) keyRefused() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.Now().Before(s.know.keyNext)
}
