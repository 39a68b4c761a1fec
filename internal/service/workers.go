package service

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/fetch"
	"github.com/trendvidstream/ingest/internal/report"
	"github.com/trendvidstream/ingest/internal/standing"
	"github.com/trendvidstream/ingest/internal/term"
)

// open opens everything and starts the workers.
func (s *Service) open(ctx context.Context) error {
	r, err := s.Open(ctx)
	s.state.update(func(st *state) { st.openErr = err })
	if err != nil {
		s.openReader(ctx)
		return err
	}
	if ctx.Err() != nil { // close may have been here
		r.Close()
		return context.Cause(ctx)
	}
	work, stop := context.WithCancel(ctx)
	trigger, wait, err := s.startWorkers(work, r)
	if err != nil {
		stop()
		r.Close()
		s.state.update(func(st *state) { st.openErr = err })
		return err
	}
	wait = sendEvents(work, r, wait)
	reader := s.state.read().reader
	s.state.update(func(st *state) { st.runtime, st.trigger, st.stop, st.wait, st.reader = r, trigger, stop, wait, nil })
	if reader != nil {
		reader.Close()
	}
	return nil
}

// openReader opens the readable part while the rest is not open.
func (s *Service) openReader(ctx context.Context) {
	if s.OpenReader == nil || s.state.read().reader != nil {
		return
	}
	r, err := s.OpenReader(ctx, func() error { return s.state.read().openErr })
	if err == nil { // else there is no store either, and openErr has the reason
		s.state.update(func(st *state) { st.reader = r })
	}
}

// reopen closes everything because of err, and opens the files that are there now.
func (s *Service) reopen(ctx context.Context, err error) {
	s.log.WarnContext(ctx, "the ledger is opened again", slog.Any("error", err))
	was := s.state.read()
	s.state.update(func(st *state) { st.runtime, st.trigger, st.wait, st.openErr, st.ledgerErr = nil, nil, nil, err, nil })
	was.stop()
	was.wait()
	was.runtime.Close()
	if err := s.open(ctx); err != nil {
		s.warnNotOpen(ctx, err)
	}
}

// startWorkers starts the workers: the queue's workers, or this process's own.
func (s *Service) startWorkers(ctx context.Context, r *Runtime) (trigger, wait func(), err error) {
	if r.Queue != nil {
		return r.Queue(ctx, s.queued(r))
	}
	workers := s.reconciler(r)
	workers.OnSlot, workers.OnPause = s.onSlot, s.onPause
	trigger, wait = workers.Serve(ctx)
	return trigger, wait, nil
}

// sendEvents sends events to the hooks until ctx is done. The function that it returns waits for that as well.
func sendEvents(ctx context.Context, r *Runtime, wait func()) func() {
	if r.Hooks.Idle() {
		return wait
	}
	var sending sync.WaitGroup
	sending.Go(func() { r.Hooks.Serve(ctx) })
	return func() { wait(); sending.Wait() }
}

func (s *Service) reconciler(r *Runtime) *fetch.Reconciler {
	rec := r.Reconciler()
	rec.Workers, rec.Log = s.Workers, s.warnings
	return rec
}

func (s *Service) warnNotOpen(ctx context.Context, err error) {
	if ctx.Err() == nil {
		unknown := standing.LedgerUnreadable
		if errors.Is(err, ingest.ErrStoreClosed) {
			unknown = standing.StoreUnreadable
		}
		s.log.WarnContext(ctx, "nothing is fetched until this is repaired", report.LogAttrs(err, unknown)...)
	}
}

// wake wakes the workers, unless the key was refused and it is too early to try it again.
func (s *Service) wake() {
	s.state.update(func(st *state) {
		if st.runtime == nil || st.idle != nil || st.runtime.Queue == nil && st.keyPaused() {
			return
		}
		if st.busySince.IsZero() {
			st.busySince = time.Now()
		}
		st.trigger() // it never blocks
	})
}

// onSlot is called with every slot that was worked on, one after the other. It logs each outcome once: a slot that is
// stopped again at every heartbeat is not news. A slot that was only given back has not ended: the reason is logged
// once for all of them, and so is a stop by quota.
func (s *Service) onSlot(r ingest.SlotResult) {
	now := outcome{r.DueAt, r.State}
	news := s.outcomes[r.Series()] != now && r.State != ingest.Due
	s.outcomes[r.Series()] = now
	if news {
		if r.State == ingest.Stopped {
			s.stops = append(s.stops, r)
		} else {
			s.logSlot(r)
		}
		if s.OnSlot != nil {
			if err := s.OnSlot(r); err != nil {
				s.log.Warn("a finished slot was not printed", slog.Any("error", err))
			}
		}
	}
	s.state.update(func(st *state) { st.slotEnded(r, news) })
}

func (s *Service) logSlot(r ingest.SlotResult) {
	level := slog.LevelInfo
	if r.State == ingest.Failed {
		level = slog.LevelWarn
	}
	attrs := []slog.Attr{slog.String("job", r.Job)}
	if r.Key != "" {
		attrs = append(attrs, slog.String("region", r.Key))
	}
	attrs = append(attrs, slog.Time("slot", r.DueAt), slog.String("outcome", string(r.State)),
		slog.Int64("units", r.Spent),
		slog.Duration("took", r.Took.Round(time.Millisecond)))
	if r.Reason != "" {
		attrs = append(attrs, slog.String("reason", term.Clean(r.Reason)))
	}
	s.log.LogAttrs(context.Background(), level, "slot", attrs...)
}

// logStops logs the slots that quota has stopped since the workers last paused, as one event. Further stops before the
// retry time are not news: they are logged at debug level.
func (s *Service) logStops() {
	if len(s.stops) == 0 {
		return
	}
	first, level := s.stops[0], slog.LevelWarn
	if s.Now().Before(s.stoppedUntil) {
		level = slog.LevelDebug
	} else {
		s.stoppedUntil = first.RetryAt
	}
	var slots []string
	units := int64(0)
	for _, r := range s.stops {
		slots = append(slots, r.Series().String())
		units += r.Spent
	}
	s.stops = nil
	s.log.LogAttrs(context.Background(), level, "stopped by quota", slog.String("outcome", string(first.State)),
		slog.String("slots", strings.Join(slots, ", ")),
		slog.Int64("units", units), slog.Time("retry_at", first.RetryAt.UTC()),
		slog.String("reason", term.Clean(first.Reason)))
}

// onPause is called when the workers pause: err is the reason.
func (s *Service) onPause(err error) {
	s.logStops()
	if err != nil && !s.endIfOutdated(context.Background(), err) { // the log repeats it every ten minutes while it lasts
		s.log.Error("nothing can be fetched now; trying again", report.LogAttrs(err, standing.WorkersPaused)...)
	}
	s.state.update(func(st *state) { st.workersPaused(err, s.heartbeat) })
	if s.state.read().news {
		s.askMaintenance()
	}
}

func (s *Service) close() {
	r := s.state.read().runtime
	if r == nil {
		return
	}
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		r.Close()
	}()
	select {
	case <-closed:
	case <-time.After(closeWithin): // a hanging pass keeps them open: committed rows are on disk
	}
}

// maxBackfillPause is the longest pause before backfills that failed are tried again. The first pause is a heartbeat,
// each next one twice as long. A try may cost some searches.
const maxBackfillPause = time.Hour

// continueBackfills works on the backfills that were run with --wait, whenever quota allows and until ctx is done. At
// every heartbeat it reads the table of slots once. The schedule has its own workers, and the quota that a backfill's
// takes leave for it.
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
				s.log.WarnContext(ctx, "the backfills pause", slog.Duration("for", pause), slog.Any("error", err))
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
