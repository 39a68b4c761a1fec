// Package memledger keeps quota in memory: for one process, and for limits per client that need not
// outlive it. An account that was not used within its horizon is forgotten.
package memledger

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/internal/memlog"
)

// Ledger implements quota.Ledger. The zero value is ready to use.
type Ledger struct {
	Now func() time.Time // the ledger's clock; nil is time.Now

	mu       sync.Mutex
	accounts map[string]*account
	facts    []quota.PoolFacts // of the decision that is being made, to be used again for the next
	uses     uint              // of accounts, so far
	idle     bool              // the last look met an idle account: there may be more
}

var _ quota.Ledger = (*Ledger)(nil)

type account = memlog.Account[struct{}]

// Take implements quota.Ledger.
func (l *Ledger) Take(ctx context.Context, a quota.Ask) (quota.Decision, error) {
	leave, err := l.enter(ctx)
	if err != nil {
		return quota.Decision{}, err
	}
	defer leave()
	acc := l.accounts[a.Account]
	clock := l.now()
	now, err := a.Advance(clock, acc.Newest(a))
	if err != nil {
		return quota.Decision{}, err
	}
	for len(l.facts) < len(a.Charges) {
		l.facts = append(l.facts, quota.PoolFacts{})
	}
	return l.use(acc, a.Account, a.Horizon, now).Draw(a, clock, now, l.facts)
}

// Refund implements quota.Ledger.
func (l *Ledger) Refund(ctx context.Context, name string, d quota.Decision) error {
	leave, err := l.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	return l.accounts[name].Refund(d, l.now())
}

// Post implements quota.Ledger.
func (l *Ledger) Post(ctx context.Context, a quota.Ask, at time.Time) error {
	leave, err := l.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	acc := l.accounts[a.Account]
	now, err := a.Advance(l.now(), acc.Newest(a))
	if err != nil {
		return err
	}
	l.use(acc, a.Account, a.Horizon, now).Post(a, at, now)
	return nil
}

// Drain implements quota.Ledger.
func (l *Ledger) Drain(ctx context.Context, name, poolName string, d quota.Drain) error {
	leave, err := l.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	if err := quota.CheckDrain(name, poolName, d); err != nil {
		return err
	}
	d.Until, d.At = d.Until.Truncate(time.Microsecond), d.At.Truncate(time.Microsecond)
	now := l.now()
	l.use(l.accounts[name], name, quota.MinHorizon, now).Pool(poolName).Close(d, now)
	return nil
}

// Reset implements quota.Ledger.
func (l *Ledger) Reset(ctx context.Context, name string) error {
	leave, err := l.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	l.accounts[name].Reset()
	return quota.CheckAccount(name)
}

// Spent implements quota.Ledger.
func (l *Ledger) Spent(ctx context.Context, name string, since time.Time) ([]quota.Spent, error) {
	leave, err := l.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	if err := quota.CheckAccount(name); err != nil {
		return nil, err
	}
	return l.accounts[name].Spent(since), nil
}

// Close implements quota.Ledger.
func (l *Ledger) Close() error { return nil }

// enter waits for its turn. As in a ledger elsewhere, nothing is done for a caller who has gone.
func (l *Ledger) enter(ctx context.Context) (leave func(), err error) {
	if ctx.Err() != nil {
		return nil, fmt.Errorf("%w: %w", quota.ErrUnavailable, context.Cause(ctx))
	}
	l.mu.Lock()
	return l.mu.Unlock, nil
}

func (l *Ledger) now() time.Time {
	now := time.Now
	if l.Now != nil {
		now = l.Now
	}
	return now().Truncate(time.Microsecond)
}

// use marks an account as used, and makes the one that is nil.
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

// forget looks at four accounts, and drops those that are idle: the map is walked in random order, so that
// every idle one is met.
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
