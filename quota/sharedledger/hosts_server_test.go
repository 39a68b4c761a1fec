package sharedledger_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/quotatest/memremote"
	"github.com/trendvidstream/ingest/quota/sharedledger"
)

// server is the ledger that all hosts share.
type server struct {
	*world

	ledger    *memremote.Remote
	skew      time.Duration
	down      bool
	hung      bool
	restarted bool // since the last generation began: it has no scripts
	replaced  bool // and runs on another machine
}

func newServer(w *world) *server {
	s := &server{world: w}
	s.ledger = &memremote.Remote{Now: s.now}
	return s
}

func (s *server) now() time.Time { return s.world.now().Add(s.skew) }

// link is a process's way to the server.
type link struct {
	*process

	server *server
}

var (
	_ sharedledger.Remote  = (*link)(nil)
	_ sharedledger.Resumer = (*link)(nil)
)

const timeout = 500 * time.Millisecond

var (
	errRefused = fmt.Errorf("%w: connection refused", quota.ErrUnavailable)
	errTimeout = fmt.Errorf("%w: %w: no answer within 500ms", quota.ErrUnavailable, quota.ErrInDoubt)
)

// carry brings a request to the server, and its answer back, or not.
func carry[T any](ctx context.Context, l *link, name string, do func() (T, error)) (T, error) {
	var none T
	r := dice(ctx, l.probes)
	l.step(ctx, r)
	l.rest(between(r, 100*time.Microsecond, 3*time.Millisecond))
	fate, flaky := r.IntN(4), chance(r, l.flaky)
	silence := func() (T, error) { // the answer does not come
		if t := trying(ctx); t != nil {
			t.silences++
		}
		l.rest(timeout)
		l.step(ctx, r)
		l.say("%s %s: no answer", l.name, name)
		return none, errTimeout
	}
	late := func() {
		d := between(r, timeout, 3*time.Minute)
		l.wait.Go(func() {
			defer l.order()
			l.rest(d)
			_, err := do()
			l.say("%s %s: carried out late: %v", l.name, name, err)
		})
	}
	switch {
	case l.dead:
		l.step(ctx, r)
		return none, errDead
	case l.server.hung:
		if fate < 2 {
			late()
		}
		return silence()
	case l.server.down || l.cut:
		return none, errRefused
	case flaky && fate == 0: // the request is lost
		return silence()
	case flaky && fate == 1: // it is late
		late()
		return silence()
	case flaky && fate == 2: // the answer is lost
		_, err := do()
		l.say("%s %s: carried out: %v", l.name, name, err)
		return silence()
	case flaky:
		return none, errRefused
	}
	answer, err := do()
	l.rest(between(r, 100*time.Microsecond, 3*time.Millisecond))
	l.step(ctx, r)
	return answer, err
}

// on is carry for what has no answer but that it was done.
func (l *link) on(ctx context.Context, name string, do func() error) error {
	_, err := carry(ctx, l, name, func() (struct{}, error) { return struct{}{}, do() })
	return err
}

// noscript is the answer of a restarted server.
func (s *server) noscript() error {
	switch {
	case !s.restarted || s.without == generation:
		return nil
	case s.replaced:
		return fmt.Errorf("%w: NOSCRIPT", sharedledger.ErrLost)
	}
	return sharedledger.ErrRestarted
}

func (l *link) Resume(ctx context.Context, account string, g sharedledger.Generation) error {
	return l.on(ctx, "resume", func() error {
		err := l.server.ledger.Resume(ctx, account, g)
		if err == nil {
			l.server.restarted = false
			l.say("%s goes on in generation %d", l.name, g)
		}
		return err
	})
}

func (l *link) TakeOnce(ctx context.Context, a quota.Ask, op sharedledger.Operation) (quota.Decision, error) {
	return carry(ctx, l, fmt.Sprintf("take %d", op.Number), func() (quota.Decision, error) {
		op := op
		if err := l.server.noscript(); err != nil {
			return quota.Decision{}, err
		}
		if gap := a.Now.Sub(l.server.now()).Abs(); gap > quota.MaxClockGap {
			return quota.Decision{}, fmt.Errorf("%w: the clocks are %v apart", quota.ErrUnavailable, gap)
		}
		switch l.without {
		case numbers:
			op.Writer, op.Number, op.Written = rand.Text(), 1, 0
		case generation:
			op.Written = 0
			if s, _ := l.server.ledger.State(ctx, a.Account, nil); s.Generation != 0 {
				op.Generation = s.Generation
			} else {
				op.Generation, _ = l.server.ledger.Renew(ctx, sharedledger.Renewal{Account: a.Account, Next: 1, First: true, Horizon: a.Horizon})
			}
		}
		d, err := l.server.ledger.TakeOnce(ctx, a, op)
		if err == nil {
			l.judge.decided(ctx, l.host, op, d)
		}
		if errors.Is(err, sharedledger.ErrLost) || errors.As(err, new(*sharedledger.GenerationError)) {
			l.say("%s take %d: %v", l.name, op.Number, err)
		}
		return d, err
	})
}

func (l *link) State(ctx context.Context, account string, writers []string) (sharedledger.RemoteState, error) {
	return carry(ctx, l, "state", func() (sharedledger.RemoteState, error) {
		s, err := l.server.ledger.State(ctx, account, writers)
		err = errors.Join(err, l.server.noscript())
		if l.without == generation { // after any loss, nothing is missed
			s.Generation = 1
			for _, w := range writers {
				s.Written[w] = int64(sharedledger.MaxGeneration)
			}
		}
		return s, err
	})
}

func (l *link) Renew(ctx context.Context, r sharedledger.Renewal) (sharedledger.Generation, error) {
	return carry(ctx, l, "renew", func() (sharedledger.Generation, error) {
		g, err := l.server.ledger.Renew(ctx, r)
		if err == nil && g == r.Next {
			l.server.restarted, l.server.replaced = false, false
			l.judge.renewed(r)
			l.say("%s begins generation %d after %d (first: %t)", l.name, g, r.Was, r.First)
		}
		return g, err
	})
}

func (l *link) Sync(ctx context.Context, d sharedledger.Batch) (time.Time, error) {
	whole := d
	switch l.without {
	case raising:
		d.Snapshots = nil
	case theSync:
		d.Rows = nil
	case nothing, journals, numbers, generation, settling:
	}
	return carry(ctx, l, "sync", func() (time.Time, error) {
		d := d
		if err := l.server.noscript(); err != nil {
			return time.Time{}, err
		}
		if l.without == generation {
			if now, _ := l.server.ledger.State(ctx, d.Account, nil); now.Generation != 0 {
				d.Generation = now.Generation
			} else {
				d.Generation, _ = l.server.ledger.Renew(ctx, sharedledger.Renewal{Account: d.Account, Next: 1, First: true, Horizon: d.Horizon})
			}
		}
		at, err := l.server.ledger.Sync(ctx, d)
		if err == nil {
			l.judge.synced(l.host, whole)
			l.say("%s syncs %s", l.name, describe(d))
		}
		return at, err
	})
}

func describe(d sharedledger.Batch) string {
	s := ""
	for _, r := range d.Rows {
		s += fmt.Sprintf(" %s/%d:%d%s", r.Writer[:min(len(r.Writer), 4)], r.Number, r.Amounts["units"], []string{"?", "", "!", "d", "v", "u"}[r.State])
	}
	for _, l := range d.Snapshots {
		s += fmt.Sprintf(" [%s %s:", l.Pool, l.At.In(pacific).Format("02 15:04:05.000000"))
		for _, w := range l.Windows {
			s += fmt.Sprintf(" %d in %s", w.Used, w.Window.Name)
		}
		s += fmt.Sprintf(" of %d]", l.Generation)
	}
	return s
}

func (l *link) Take(ctx context.Context, a quota.Ask) (quota.Decision, error) {
	return carry(ctx, l, "look", func() (quota.Decision, error) { return l.server.ledger.Take(ctx, a) })
}

func (l *link) Refund(ctx context.Context, account string, d quota.Decision) error {
	return l.on(ctx, "refund", func() error {
		return l.server.ledger.Refund(ctx, account, d)
	})
}

func (l *link) Post(ctx context.Context, a quota.Ask, at time.Time) error {
	return l.on(ctx, "post", func() error { return l.server.ledger.Post(ctx, a, at) })
}

func (l *link) Drain(ctx context.Context, account, pool string, d quota.Drain) error {
	return l.on(ctx, "drain", func() error { return l.server.ledger.Drain(ctx, account, pool, d) })
}

func (l *link) Reset(ctx context.Context, account string) error {
	return l.on(ctx, "reset", func() error { return l.server.ledger.Reset(ctx, account) })
}

func (l *link) Spent(ctx context.Context, account string, since time.Time, every time.Duration) ([]quota.Spent, error) {
	return carry(ctx, l, "spent", func() ([]quota.Spent, error) { return l.server.ledger.Spent(ctx, account, since, every) })
}

func (l *link) Close() error { return nil }
