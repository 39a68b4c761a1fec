package sharedledger

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/trendvidstream/ingest/quota"
)

// How long a remote that did not answer is left alone, twice as long each time; then one probe, which
// charges nothing, says whether it answers again.
const (
	firstOpen   = time.Second
	longestOpen = 10 * time.Second
)

// reach is nil where the remote may be asked.
func (s *Ledger) reach(ctx context.Context, hurry bool) error {
	if err := s.once(ctx); err != nil {
		return err
	}
	left := s.state.Breaker.Until.Sub(s.Now())
	switch {
	case s.state.Breaker.Until.IsZero():
		return nil
	case left > 0 && left <= longestOpen: // not longer: the clock was set back
		return s.broken()
	}
	err, answered := s.probe(ctx, hurry)
	switch {
	case !answered:
		return s.broken()
	case errors.Is(err, ErrLost):
		s.opened = false
	case err != nil:
		s.trip(ctx, err)
		return s.broken()
	}
	s.state.Breaker = Breaker{}
	s.notes.Breaker = &Breaker{}
	return nil
}

// once reads the journal's state, where it was not read yet.
func (s *Ledger) once(ctx context.Context) error {
	if s.loaded {
		return nil
	}
	return s.load(ctx)
}

func (s *Ledger) load(ctx context.Context) error {
	state, err := s.Journal.State(ctx, s.Account)
	if err != nil {
		return fmt.Errorf("read the journal: %w", err)
	}
	s.state, s.loaded = state, true
	return nil
}

// probe asks whether the remote answers. Who is in a hurry waits for a moment only, and leaves the
// answer to a later call.
func (s *Ledger) probe(ctx context.Context, hurry bool) (err error, answered bool) { //nolint:revive // the answer may be an error
	if s.probing == nil {
		c := make(chan error, 1)
		s.probing = c
		go func() {
			_, err := s.Remote.State(s.probeCtx, s.Account, nil)
			c <- err
		}()
	}
	if hurry {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, s.ShortWait)
		defer cancel()
	}
	select {
	case err := <-s.probing:
		s.probing = nil
		return err, true
	case <-ctx.Done():
		return nil, false
	}
}

// trip leaves the remote alone for a while.
func (s *Ledger) trip(ctx context.Context, err error) {
	b := s.state.Breaker
	b.Until = s.Now().Add(min(firstOpen<<min(b.Failures, 10), longestOpen))
	b.Failures++
	b.Why = strings.TrimPrefix(err.Error(), quota.ErrUnavailable.Error()+": ")
	s.state.Breaker, s.notes.Breaker = b, &b
	_ = s.flush(context.WithoutCancel(ctx)) // else with the next write; this process knows
}

// broken says why the remote is not asked.
func (s *Ledger) broken() error {
	b := s.state.Breaker
	return fmt.Errorf("%w: not asked again before %s: %s", quota.ErrUnavailable, b.Until.UTC().Format(time.RFC3339), b.Why)
}
