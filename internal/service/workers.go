package service

import (
	"context"
	"log/slog"
	"time"

	"github.com/trendvidstream/ingest/fetch"
)

// open opens everything and starts the workers.
func (s *Service) open(ctx context.Context) error {
	r, err := s.Open(ctx, s.log)
	s.state.update(func(st *state) { st.openErr = err })
	if err != nil {
		return err
	}
	if ctx.Err() != nil { // close may have been here
		r.Close()
		return context.Cause(ctx)
	}
	workers := s.reconciler(r)
	workers.OnSlot, workers.OnRest = s.onSlot, s.onRest
	s.mu.Lock()
	defer s.mu.Unlock()
	s.runtime = r
	s.trigger, s.wait = workers.Serve(ctx)
	return nil
}

func (s *Service) reconciler(r *Runtime) *fetch.Reconciler {
	rec := r.Reconciler()
	rec.Workers, rec.Log = s.Workers, s.warnings
	return rec
}

func (s *Service) warnNotOpen(ctx context.Context, err error) {
	if ctx.Err() == nil {
		s.log.WarnContext(ctx, "nothing is fetched until this is repaired", slog.Any("error", err))
	}
}

// opened is what the service works with; nil: not open.
func (s *Service) opened() *Runtime {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.runtime
}

// wake wakes the workers, unless the key was refused and it is too early to try it again.
func (s *Service) wake() {
	s.mu.Lock()
	defer s.mu.Unlock()
	paused := false
	s.state.update(func(st *state) {
		if paused = st.keyPaused(); !paused && s.runtime != nil && st.busySince.IsZero() {
			st.busySince = time.Now()
		}
	})
	if !paused {
		s.trigger()
	}
}

// onSlot hears of every slot that was worked on.
func (s *Service) onSlot(r fetch.SlotResult) {
	news := s.slots.write(r)
	s.state.update(func(st *state) { st.slotEnded(r, news) })
}

// onRest hears that the workers have come to an end for now.
func (s *Service) onRest(err error) {
	s.state.update(func(st *state) { st.workersRested(err, s.heartbeat) })
	if s.state.read().news {
		s.askMaintenance()
	}
}

// waitForWorkers returns within 4.5 s of the stop.
func (s *Service) waitForWorkers() {
	s.mu.Lock()
	wait := s.wait
	s.mu.Unlock()
	wait()
}

// close closes the files.
func (s *Service) close() {
	r := s.opened()
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
	case <-time.After(closeWithin): // a pass that hangs holds them: what was committed is on disk
	}
}
