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

type account struct {
	horizon time.Duration
	used    time.Time // of the last charge or peek
	pools   []*pool   // few, and so searched in order
}

type pool struct {
	name  string
	log   memlog.Log[struct{}]
	drain quota.Drain // the last, whether or not it is over
}

// Take implements quota.Ledger.
func (l *Ledger) Take(_ context.Context, a quota.Ask) (quota.Decision, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	acc := l.accounts[a.Account]
	clock, now, err := l.advance(a, acc)
	if err != nil {
		return quota.Decision{}, err
	}
	return l.take(l.use(acc, a.Account, a.Horizon, now), a, clock, now)
}

// take decides, and charges what is allowed.
func (l *Ledger) take(a *account, ask quota.Ask, clock, now time.Time) (quota.Decision, error) {
	for len(l.facts) < len(ask.Charges) {
		l.facts = append(l.facts, quota.PoolFacts{})
	}
	for i, c := range ask.Charges {
		p := a.pool(c.Pool)
		f := quota.PoolFacts{Total: p.log.Total, Drain: p.drain, Windows: l.facts[i].Windows[:0]}
		for _, lookup := range ask.Lookups(c, now) {
			f.Windows = append(f.Windows, p.log.LookUp(lookup))
		}
		l.facts[i] = f
	}
	d, err := quota.Decide(ask, clock, now, l.facts[:len(ask.Charges)])
	if err != nil || !d.Allowed || ask.Peek {
		return d, err
	}
	for i, c := range ask.Charges {
		if c.Amount > 0 {
			p := a.pool(c.Pool)
			p.log.Forget(now.Add(-a.horizon).UnixMicro())
			d.Pools[i].Entry = p.log.Insert(now, c.Amount, ask.Who, ask.Precision)
		}
	}
	return d, nil
}

// advance returns the ledger's clock, and the time at which it decides about the ask. acc may be nil.
func (l *Ledger) advance(a quota.Ask, acc *account) (clock, now time.Time, err error) {
	clock = l.now()
	var newest time.Time
	if acc != nil {
		for _, c := range a.Charges {
			if p := acc.find(c.Pool); p != nil && len(p.log.Entries) > 0 {
				if at := quota.FromMicros(p.log.Entries[len(p.log.Entries)-1].At); at.After(newest) {
					newest = at
				}
			}
		}
	}
	now, err = a.Advance(clock, newest)
	return clock, now, err
}

// Refund implements quota.Ledger.
func (l *Ledger) Refund(_ context.Context, name string, d quota.Decision) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !d.Allowed || l.now().Sub(d.At) > quota.RefundWithin {
		return fmt.Errorf("%w: refused, or taken at %s", quota.ErrNotRefundable, d.At.Format(time.RFC3339))
	}
	acc, ok := l.accounts[name]
	if !ok {
		return fmt.Errorf("%w: account %s is empty", quota.ErrNotRefundable, name)
	}
	at := make([]int, len(d.Pools))
	for i, p := range d.Pools {
		if at[i] = acc.pool(p.Pool).log.Find(d.At, p); at[i] < 0 {
			return fmt.Errorf("%w: pool %s has no such entry", quota.ErrNotRefundable, p.Pool)
		}
	}
	for i, p := range d.Pools {
		if p.Charged > 0 {
			acc.pool(p.Pool).log.Remove(at[i])
		}
	}
	return nil
}

// Post implements quota.Ledger.
func (l *Ledger) Post(_ context.Context, a quota.Ask, at time.Time) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	acc := l.accounts[a.Account]
	_, now, err := l.advance(a, acc)
	if err != nil {
		return err
	}
	if at.After(now) {
		at = now
	}
	acc = l.use(acc, a.Account, a.Horizon, now)
	if now.Sub(at) >= acc.horizon {
		return nil
	}
	for _, c := range a.Charges {
		if c.Amount > 0 {
			acc.pool(c.Pool).log.Insert(at.Truncate(time.Microsecond), c.Amount, a.Who, 0)
		}
	}
	return nil
}

// Drain implements quota.Ledger.
func (l *Ledger) Drain(_ context.Context, name, poolName string, d quota.Drain) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := quota.CheckAccount(name); err != nil {
		return err
	}
	p := l.use(l.accounts[name], name, quota.MinHorizon, l.now()).pool(poolName)
	if d.Until.IsZero() || d.Until.After(p.drain.Until) {
		p.drain = d
	}
	return nil
}

// Reset implements quota.Ledger.
func (l *Ledger) Reset(_ context.Context, name string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if acc, ok := l.accounts[name]; ok {
		for _, p := range acc.pools {
			p.log.Entries, p.drain = nil, quota.Drain{}
		}
	}
	return quota.CheckAccount(name)
}

// Spent implements quota.Ledger.
func (l *Ledger) Spent(_ context.Context, name string, since time.Time) ([]quota.Spent, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	type key struct {
		pool string
		who  quota.Who
	}
	sums := map[key]int64{}
	if acc, ok := l.accounts[name]; ok {
		for _, p := range acc.pools {
			for _, e := range p.log.Entries[p.log.From(since.UnixMicro()):] {
				sums[key{p.name, e.Who}] += e.Amount
			}
		}
	}
	var out []quota.Spent
	for k, amount := range sums {
		if amount > 0 {
			out = append(out, quota.Spent{Pool: k.pool, Who: k.who, Amount: amount})
		}
	}
	quota.SortSpent(out)
	return out, nil
}

// Close implements quota.Ledger.
func (l *Ledger) Close() error { return nil }

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
	acc.horizon = max(acc.horizon, horizon)
	acc.used = now
	return acc
}

// forget looks at four accounts, and drops those that are idle: the map is walked in random order, so that
// every idle one is met.
func (l *Ledger) forget(but string, now time.Time) {
	visited := 0
	l.idle = false
	for other, acc := range l.accounts {
		if other != but && now.Sub(acc.used) >= acc.horizon && now.After(acc.lastDrain()) {
			l.idle = true
			delete(l.accounts, other)
		}
		if visited++; visited == 4 {
			break
		}
	}
}

func (a *account) lastDrain() time.Time {
	var last time.Time
	for _, p := range a.pools {
		if p.drain.Holds(last) {
			last = p.drain.Until
		}
	}
	return last
}

// pool finds or makes a pool.
func (a *account) pool(name string) *pool {
	p := a.find(name)
	if p == nil {
		p = &pool{name: name}
		a.pools = append(a.pools, p)
	}
	return p
}

// find returns the pool of that name; nil if it was not used yet.
func (a *account) find(name string) *pool {
	for _, p := range a.pools {
		if p.name == name {
			return p
		}
	}
	return nil
}
