package service

import (
	"context"
	"log/slog"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/internal/term"
)

// setIdle notes why this machine leaves the queue to the others, or that it works again, and tells them at every
// heartbeat. Only a change is logged.
func (s *Service) setIdle(ctx context.Context, r *Runtime, why error) {
	before, tell := error(nil), false
	s.state.update(func(st *state) {
		before = st.idle
		st.idle = why
		if tell = (why == nil) != (before == nil) || why != nil && time.Since(st.idleTold) >= s.heartbeat; tell {
			st.idleTold = time.Now()
		}
		if why != nil {
			st.busySince, st.rested = time.Time{}, true
		}
	})
	switch {
	case why != nil && before == nil:
		s.log.ErrorContext(ctx, "this machine does not work: it leaves everything to the others until it may", slog.Any("error", why))
	case why == nil && before != nil:
		s.log.WarnContext(ctx, "this machine works again", slog.Any("was", before))
	}
	if (why == nil) != (before == nil) {
		s.state.update(func(st *state) { st.news = true })
		s.askMaintenance()
	}
	if tell && r.TellIdle != nil {
		if err := r.TellIdle(ctx, why); err != nil && ctx.Err() == nil {
			s.log.WarnContext(ctx, "the other machines were not told whether this one works", slog.Any("error", err))
		}
	}
}

// idleReason says why this machine does not work; "" if it does.
func (s *Service) idleReason() string {
	if why := s.state.read().idle; why != nil {
		return "this machine does not work: " + term.Clean(why.Error())
	}
	return ""
}

// othersIdle returns the other machines that do not work.
func (s *Service) othersIdle(ctx context.Context) ([]ingest.IdleMachine, error) {
	if r := s.state.read().runtime; r != nil && r.OtherIdle != nil {
		return r.OtherIdle(ctx)
	}
	return nil, nil
}
