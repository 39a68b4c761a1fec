// Package memledger keeps quota in memory: for one process, and for limits per client that need not survive it. An
// account that is unused for its horizon is forgotten.
package memledger

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/internal/memlog"
)

// Ledger implements quota.Ledger in memory, for tests and for limits that may begin anew with the process. For a ledger
// that survives see sqliteledger. The zero value is ready to use.
type Ledger struct {
	Now func() time.Time // the ledger's clock; nil is time.Now

	mu       sync.Mutex
	accounts map[string]*account
	uses     uint // how often accounts were used
	idle     bool // the last call of forget found an idle account: there may be more
}

var _ quota.Ledger = (*Ledger)(nil)

type account = memlog.Account[struct{}]

// Take implements quota.Ledger.
func (l *Ledger) Take(ctx context.Context, a quota.Ask) (d quota.Decision, err error) {
	err = l.on(ctx, a.Account, func(acc *account, clock time.Time) error {
		now, err := a.Advance(clock, acc.Newest(a))
		if err == nil {
			d, err = l.use(acc, a.Account, a.Horizon, now).Draw(a, clock, now)
		}
		return err
	})
	return d, err
}

// Refund implements quota.Ledger.
func (l *Ledger) Refund(ctx context.Context, name string, d quota.Decision) error {
	return l.on(ctx, name, func(acc *account, clock time.Time) error { return acc.Refund(d, clock) })
}

// Post implements quota.Ledger.
func (l *Ledger) Post(ctx context.Context, a quota.Ask, at time.Time) error {
	return l.on(ctx, a.Account, func(acc *account, clock time.Time) error {
		now, err := a.Advance(clock, acc.Newest(a))
		if err == nil {
			l.use(acc, a.Account, a.Horizon, now).Post(a, at, now)
		}
		return err
	})
}

// Drain implements quota.Ledger.
func (l *Ledger) Drain(ctx context.Context, name, pool string, d quota.Drain) error {
	if err := d.Check(name, pool); err != nil {
		return err
	}
	d.Until, d.At = d.Until.Truncate(time.Microsecond), d.At.Truncate(time.Microsecond)
	return l.on(ctx, name, func(acc *account, clock time.Time) error {
		p := l.use(acc, name, quota.MinHorizon, clock).Pool(pool)
		p.Drain = d.Over(p.Drain, clock)
		return nil
	})
}

// Reset implements quota.Ledger.
func (l *Ledger) Reset(ctx context.Context, name string) error {
	return l.on(ctx, name, func(acc *account, _ time.Time) error { acc.Reset(); return nil })
}

// Spent implements quota.Ledger.
func (l *Ledger) Spent(ctx context.Context, name string, since time.Time,
	every time.Duration) (spent []quota.Spent, err error) {
	err = l.on(ctx, name, func(acc *account, _ time.Time) error { spent = acc.Spent(since, every); return nil })
	return spent, err
}

// Close implements quota.Ledger.
func (l *Ledger) Close() error { return nil }

// on calls do with an account, or with nil if there is none, unless ctx is done.
func (l *Ledger) on(ctx context.Context, name string, do func(acc *account, clock time.Time) error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("%w: %w", quota.ErrUnavailable, context.Cause(ctx))
	}
	if err := quota.CheckAccount(name); err != nil {
		return err
	}
	now := time.Now
	if l.Now != nil {
		now = l.Now
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return do(l.accounts[name], now().Truncate(time.Microsecond))
}

// use marks an account as used, and creates it if it is nil.
func (l *Ledger) use(acc *account, name string, horizon time.Duration, now time.Time) *account {
	if l.uses++; acc == nil || l.idle || l.uses%8 == 0 {
		l.forget(name, now)
	}
	if acc == nil {
		if l.accounts == nil {
			l.accounts = map[string]*account{}
		}
		acc = &account{}
		l.accounts[name] = acc
	}
	acc.Use(horizon, now)
	return acc
}

// forget checks four accounts and drops idle ones. The map is walked in random order, so that every account is
// reached.
func (l *Ledger) forget(but string, now time.Time) {
	visited := 0
	l.idle = false
	for other, acc := range l.accounts {
		if other != but && acc.Idle(now) {
			l.idle = true
			delete(l.accounts, other)
		}
		if visited++; visited == 4 {
			break
		}
	}
}
