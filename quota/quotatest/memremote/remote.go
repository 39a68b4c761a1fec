package memremote

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/sharedledger"
)

var _ sharedledger.Remote = (*Remote)(nil)

// writer is what is kept of one: the last of its operations that was written.
type writer struct {
	number int64
	nonce  int64
	answer quota.Decision
	synced bool      // written by a sync: there is no answer
	heard  time.Time // of it last
}

// TakeOnce implements sharedledger.Remote.
func (l *Remote) TakeOnce(_ context.Context, a quota.Ask, op sharedledger.Operation) (quota.Decision, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	clock, now, err := l.advance(a)
	if err != nil {
		return quota.Decision{}, err
	}
	acc, err := l.current(a.Account, op.Generation)
	if err != nil {
		return quota.Decision{}, err
	}
	w := acc.writers[op.Writer]
	switch {
	case w.number < op.Written:
		return quota.Decision{}, fmt.Errorf("%w: writer %s is at %d here, and wrote %d", sharedledger.ErrLost, op.Writer, w.number, op.Written)
	case w.number > op.Number || w.number == op.Number && w.nonce != op.Nonce:
		return quota.Decision{}, fmt.Errorf("%w: writer %s is at %d here, and asks for %d", sharedledger.ErrClone, op.Writer, w.number, op.Number)
	case w.number == op.Number && w.synced:
		return quota.Decision{}, fmt.Errorf("%w: writer %s, number %d", sharedledger.ErrSynced, op.Writer, op.Number)
	}
	for _, c := range a.Charges {
		if err := acc.pool(c.Pool).whole(c.Pool); err != nil {
			return quota.Decision{}, err
		}
	}
	if w.number == op.Number {
		return clone(w.answer), nil
	}
	if op.Nonce == 0 {
		return acc.decide(a, clock, now)
	}
	d, err := l.account(a.Account, a.Horizon, now).take(a, clock, now)
	if err == nil && d.Allowed && !a.Peek && slices.ContainsFunc(a.Charges, func(c quota.Charge) bool { return c.Amount > 0 }) {
		acc.wrote(op.Writer, writer{number: op.Number, nonce: op.Nonce, answer: clone(d), heard: now})
	}
	return d, err
}

// current returns the account, if the generation still is the same.
func (l *Remote) current(name string, g sharedledger.Generation) (*account, error) {
	acc, ok := l.accounts[name]
	if !ok || acc.generation == 0 {
		return nil, fmt.Errorf("%w: account %s has no state", sharedledger.ErrLost, name)
	}
	if acc.generation != g {
		return nil, &sharedledger.GenerationError{Now: acc.generation}
	}
	return acc, nil
}

// wrote keeps what a writer wrote last, and forgets those that were not heard of for the horizon.
func (a *account) wrote(name string, w writer) {
	if _, ok := a.writers[name]; !ok {
		for other, idle := range a.writers {
			if w.heard.Sub(idle.heard) > a.horizon {
				delete(a.writers, other)
			}
		}
	}
	if a.writers == nil {
		a.writers = map[string]writer{}
	}
	a.writers[name] = w
}

// whole returns ErrLost for a log that is not as long as the state says.
func (p *pool) whole(name string) error {
	if len(p.log.Entries) != p.length {
		return fmt.Errorf("%w: pool %s has %d entries of %d", sharedledger.ErrLost, name, len(p.log.Entries), p.length)
	}
	return nil
}

// State implements sharedledger.Remote.
func (l *Remote) State(_ context.Context, name string, writers []string) (sharedledger.RemoteState, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := sharedledger.RemoteState{At: l.now(), Written: map[string]int64{}}
	acc, ok := l.accounts[name]
	if !ok {
		return s, nil
	}
	s.Generation, s.Born = acc.generation, acc.born
	for _, h := range acc.hosts {
		h.Regions, h.Knows = slices.Clone(h.Regions), slices.Clone(h.Knows)
		s.Hosts = append(s.Hosts, h)
	}
	for _, name := range writers {
		if w, ok := acc.writers[name]; ok {
			s.Written[name] = w.number
		}
	}
	return s, nil
}

// Renew implements sharedledger.Remote.
func (l *Remote) Renew(_ context.Context, r sharedledger.Renewal) (sharedledger.Generation, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := quota.CheckAccount(r.Account); err != nil {
		return 0, err
	}
	if acc, ok := l.accounts[r.Account]; ok && acc.generation != r.Was {
		return acc.generation, nil
	} else if !ok && r.Was != 0 {
		return 0, nil
	}
	now := l.now()
	acc := l.account(r.Account, r.Horizon, now)
	for name, p := range acc.pools {
		if p.whole(name) != nil {
			acc.pools, acc.writers = map[string]*pool{}, nil
			break
		}
	}
	acc.generation, acc.born, acc.hosts = r.Next, now, nil
	if r.First {
		acc.born = time.Time{}
	}
	return r.Next, nil
}

func clone(d quota.Decision) quota.Decision {
	d.Pools = slices.Clone(d.Pools)
	for i := range d.Pools {
		d.Pools[i].Windows = slices.Clone(d.Pools[i].Windows)
	}
	if d.Refusal != nil {
		refusal := *d.Refusal
		d.Refusal = &refusal
	}
	return d
}
