// Package memremote is the remote of a shared ledger, and the journal of a data directory, in memory: what
// several hosts do to one ledger is tried without a server. An Image is what a server would keep on disk.
package memremote

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/sharedledger"
)

// Remote implements sharedledger.Remote. The zero value is ready to use.
type Remote struct {
	Now func() time.Time // the ledger's clock; nil is time.Now

	mu       sync.Mutex
	accounts map[string]*account
}

type account struct {
	horizon time.Duration
	used    time.Time // of the last charge or peek
	pools   map[string]*pool

	generation sharedledger.Generation // 0: of a ledger that is not shared, which has neither writers nor hosts
	born       time.Time
	writers    map[string]writer
	hosts      []sharedledger.Host // by id
}

type pool struct {
	log    log
	length int                                   // of the log, as the state says
	raised map[sharedledger.Generation]time.Time // the youngest snapshot of each that it was raised to
	drain  quota.Drain                           // the last, whether or not it is over
}

// Take implements quota.Ledger.
func (l *Remote) Take(_ context.Context, a quota.Ask) (quota.Decision, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	clock, now, err := l.advance(a)
	if err != nil {
		return quota.Decision{}, err
	}
	return l.account(a.Account, a.Horizon, now).take(a, clock, now)
}

// decide changes nothing.
func (a *account) decide(ask quota.Ask, clock, now time.Time) (quota.Decision, error) {
	facts := make([]quota.PoolFacts, len(ask.Charges))
	for i, c := range ask.Charges {
		p := a.pool(c.Pool)
		if err := p.whole(c.Pool); err != nil {
			return quota.Decision{}, err
		}
		facts[i] = quota.PoolFacts{Total: p.log.Total, Drain: p.drain}
		for _, lookup := range ask.Lookups(c, now) {
			facts[i].Windows = append(facts[i].Windows, p.log.LookUp(lookup))
		}
	}
	return quota.Decide(ask, clock, now, facts)
}

// take decides, and charges what is allowed.
func (a *account) take(ask quota.Ask, clock, now time.Time) (quota.Decision, error) {
	d, err := a.decide(ask, clock, now)
	if err != nil || !d.Allowed || ask.Peek {
		return d, err
	}
	for i, c := range ask.Charges {
		if c.Amount > 0 {
			p := a.pool(c.Pool)
			p.log.Forget(now.Add(-a.horizon).UnixMicro())
			d.Pools[i].Entry = p.log.Insert(now, c.Amount, ask.Who, ask.Precision)
			p.length = len(p.log.Entries)
		}
	}
	return d, nil
}

// advance returns the ledger's clock, and the time at which it decides about the ask.
func (l *Remote) advance(a quota.Ask) (clock, now time.Time, err error) {
	clock = l.now()
	var newest time.Time
	if acc, ok := l.accounts[a.Account]; ok {
		for _, c := range a.Charges {
			if p, ok := acc.pools[c.Pool]; ok && len(p.log.Entries) > 0 {
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
func (l *Remote) Refund(_ context.Context, name string, d quota.Decision) error {
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
			p := acc.pool(p.Pool)
			p.log.Remove(at[i])
			p.length = len(p.log.Entries)
		}
	}
	return nil
}

// Post implements quota.Ledger.
func (l *Remote) Post(_ context.Context, a quota.Ask, at time.Time) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, now, err := l.advance(a)
	if err != nil {
		return err
	}
	if at.After(now) {
		at = now
	}
	acc := l.account(a.Account, a.Horizon, now)
	if now.Sub(at) >= acc.horizon {
		return nil
	}
	for _, c := range a.Charges {
		if c.Amount == 0 {
			continue
		}
		p := acc.pool(c.Pool)
		missing := p.length - len(p.log.Entries) // of a log that was lost in part
		p.log.Insert(at.Truncate(time.Microsecond), c.Amount, a.Who, 0)
		p.length = len(p.log.Entries) + missing
	}
	return nil
}

// Drain implements quota.Ledger.
func (l *Remote) Drain(_ context.Context, name, poolName string, d quota.Drain) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := quota.CheckAccount(name); err != nil {
		return err
	}
	p := l.account(name, quota.MinHorizon, l.now()).pool(poolName)
	if d.Until.IsZero() || d.Until.After(p.drain.Until) {
		p.drain = d
	}
	return nil
}

// Reset implements quota.Ledger.
func (l *Remote) Reset(_ context.Context, name string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	acc, ok := l.accounts[name]
	switch {
	case ok && acc.generation != 0:
		return fmt.Errorf("%w: account %s is in generation %d", quota.ErrShared, name, acc.generation)
	case ok:
		for _, p := range acc.pools {
			p.log.Entries, p.length, p.drain = nil, 0, quota.Drain{}
		}
	}
	return quota.CheckAccount(name)
}

// Spent implements quota.Ledger.
func (l *Remote) Spent(_ context.Context, name string, since time.Time) ([]quota.Spent, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	type key struct {
		pool string
		who  quota.Who
	}
	sums := map[key]int64{}
	if acc, ok := l.accounts[name]; ok {
		for name, p := range acc.pools {
			for _, e := range p.log.Entries[p.log.From(since.UnixMicro()):] {
				sums[key{name, e.Who}] += e.Amount
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
func (l *Remote) Close() error { return nil }

func (l *Remote) now() time.Time {
	if l.Now != nil {
		return l.Now().Truncate(time.Microsecond)
	}
	return time.Now().Truncate(time.Microsecond)
}

// account finds or makes an account, and forgets an idle one or two on the way: the map is walked
// in random order, so that every idle one is met.
func (l *Remote) account(name string, horizon time.Duration, now time.Time) *account {
	looked := 0
	for other, acc := range l.accounts {
		if other != name && now.Sub(acc.used) >= acc.horizon && now.After(acc.lastDrain()) {
			delete(l.accounts, other)
		}
		if looked++; looked == 4 {
			break
		}
	}
	acc, ok := l.accounts[name]
	if !ok {
		if l.accounts == nil {
			l.accounts = map[string]*account{}
		}
		acc = &account{pools: map[string]*pool{}}
		l.accounts[name] = acc
	}
	acc.horizon = max(acc.horizon, horizon)
	acc.used = now
	return acc
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

func (a *account) pool(name string) *pool {
	p, ok := a.pools[name]
	if !ok {
		p = &pool{}
		a.pools[name] = p
	}
	return p
}
