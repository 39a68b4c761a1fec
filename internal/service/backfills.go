package service

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/trendvidstream/ingest"
)

// maxBackfillPause is the longest pause before backfills that found the upstream at fault are tried again. The first
// pause is a heartbeat, each next one twice as long. A try may cost some searches.
const maxBackfillPause = time.Hour

// continueBackfills works on the backfills that were run with --wait, whenever quota allows and until ctx is done. At
// every heartbeat it reads the table of slots once. The schedule has workers of its own, and the quota that a
// backfill's takes leave for it.
func (s *Service) continueBackfills(ctx context.Context) {
	tick := time.NewTicker(s.heartbeat)
	defer tick.Stop()
	var next time.Time
	for failed := 0; ctx.Err() == nil; {
		if !time.Now().Before(next) {
			err := s.workOnBackfills(ctx)
			if err == nil {
				failed = 0
			} else if ctx.Err() == nil {
				pause := min(s.heartbeat<<min(failed, 10), maxBackfillPause)
				failed, next = failed+1, time.Now().Add(pause-s.heartbeat/2) // the tick itself may come a little early
				s.log.WarnContext(ctx, "the backfills rest", slog.Duration("for", pause), slog.Any("error", err))
				s.state.update(func(st *state) { st.checkRefusal(err, s.heartbeat) })
			}
		}
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
}

// workOnBackfills works on the waiting backfills until they are done or quota is refused.
func (s *Service) workOnBackfills(ctx context.Context) error {
	r := s.state.read().runtime
	if st := s.state.read(); r == nil || r.Queue != nil || st.keyPaused() { // the queue has jobs for them
		return nil
	}
	waiting, err := r.Store.WaitingBackfills(ctx)
	if err != nil || len(waiting) == 0 {
		return err
	}
	reserve, err := r.Reserve(ctx)
	if err != nil {
		return err
	}
	rec := s.reconciler(r)
	rec.Reserve = reserve
	worked, err := rec.CarryOn(ctx, waiting)
	done := map[string]int{}
	for _, piece := range worked {
		if id, ok := ingest.IsBackfillJob(piece.Job); ok && piece.State == ingest.Done {
			done[id]++
		}
	}
	for id, n := range done {
		s.log.InfoContext(ctx, "backfill continued", slog.String("backfill", id), slog.Int("pieces", n))
	}
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}
