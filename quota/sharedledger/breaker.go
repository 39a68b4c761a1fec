package sharedledger

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/trendvidstream/ingest/quota"
)

// How long a remote that did not answer is not asked: twice as long after each failure. Then a probe, which charges
// nothing, asks whether it answers again.
const (
	firstOpen   = time.Second
	longestOpen = 10 * time.Second
)

// checkBreaker returns nil if the remote may be asked.
func (s *Ledger) checkBreaker(ctx context.Context, hasFallback bool) error {
	if err := s.loadOnce(ctx); err != nil {
		return err
	}
	left := s.state.Breaker.Until.Sub(s.Now())
	switch {
	case s.state.Breaker.Until.IsZero():
		return nil
	case left > 0 && left <= longestOpen: // otherwise the clock was set back
		return s.breakerError()
	}
	err, answered := s.probe(ctx, hasFallback)
	switch {
	case !answered:
		return s.breakerError()
	case errors.Is(err, ErrLost):
		s.comparedIn = 0
	case err != nil:
		s.openBreaker(ctx, err)
		return s.breakerError()
	}
	s.state.Breaker = Breaker{}
	s.notes.Breaker = &Breaker{}
	return nil
}

// probe asks whether the remote answers. A caller with a fallback waits at most ShortWait; a later call then gets the
// answer.
func (s *Ledger) probe(ctx context.Context, hasFallback bool) (err error, answered bool) { //nolint:revive // both
	if s.probing == nil {
		c := make(chan error, 1)
		s.probing = c
		go func() {
			_, err := s.Remote.State(s.probeCtx, s.Account, nil)
			c <- err
		}()
	}
	if hasFallback {
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

// openBreaker keeps the remote from being asked for a while.
func (s *Ledger) openBreaker(ctx context.Context, err error) {
	b := s.state.Breaker
	b.Until = s.Now().Add(min(firstOpen<<min(b.Failures, 10), longestOpen))
	b.Failures++
	b.Why = strings.TrimPrefix(err.Error(), quota.ErrUnavailable.Error()+": ")
	b.Server, _ = errors.AsType[*quota.ServerError](err)
	s.state.Breaker, s.notes.Breaker = b, &b
	_ = s.flush(context.WithoutCancel(ctx)) // on failure, the next write tells the other processes
}

// breakerError says why the remote is not asked.
func (s *Ledger) breakerError() error {
	b := s.state.Breaker
	err := fmt.Errorf("%w: not asked again before %s: %s", quota.ErrUnavailable,
		b.Until.UTC().Format(time.DateTime+"Z"), b.Why)
	if b.Server != nil {
		return remembered{err, b.Server}
	}
	return err
}

// remembered is an error with the text of its cause.
type remembered struct {
	error

	cause *quota.ServerError
}

func (r remembered) Unwrap() []error { return []error{r.error, r.cause} }
