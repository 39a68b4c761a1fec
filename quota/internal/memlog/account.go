package memlog

import (
	"fmt"
	"time"

	"github.com/trendvidstream/ingest/quota"
)

// Account is what a ledger in memory keeps of one account. It does not lock. The zero value is empty.
type Account[M comparable] struct {
	Horizon time.Duration // the longest that was asked for
	Used    time.Time     // when it was charged, posted to, drained or looked at last
	Pools   []*Pool[M]    // few, and so searched in order
}

// Pool is one pool of an account.
type Pool[M comparable] struct {
	Name  string
	Log   Log[M]
	Drain quota.Drain // the last, whether or not it is over
}

// Pool finds or makes a pool.
func (a *Account[M]) Pool(name string) *Pool[M] {
	p := a.Find(name)
	if p == nil {
		p = &Pool[M]{Name: name}
		a.Pools = append(a.Pools, p)
	}
	return p
}

// Find returns the pool of that name; nil if it was not used yet.
func (a *Account[M]) Find(name string) *Pool[M] {
	for _, p := range a.Pools {
		if p.Name == name {
			return p
		}
	}
	return nil
}

// Use notes that the account is used, by somebody who wants entries kept for the horizon.
func (a *Account[M]) Use(horizon time.Duration, now time.Time) {
	a.Horizon, a.Used = max(a.Horizon, horizon), now
}

// Idle reports whether nothing of the account matters any more.
func (a *Account[M]) Idle(now time.Time) bool {
	for _, p := range a.Pools {
		if !now.After(p.Drain.Until) {
			return false
		}
	}
	return now.Sub(a.Used) >= a.Horizon
}

// Newest returns the time of the newest entry in the pools of the ask; zero: there is none. a may be nil.
func (a *Account[M]) Newest(ask quota.Ask) (newest time.Time) {
	if a == nil {
		return newest
	}
	for _, c := range ask.Charges {
		if p := a.Find(c.Pool); p != nil && p.Log.Newest().After(newest) {
			newest = p.Log.Newest()
		}
	}
	return newest
}

// Decide decides, and changes nothing. It uses facts, which may be longer than the ask, again.
func (a *Account[M]) Decide(ask quota.Ask, clock, now time.Time, facts []quota.PoolFacts) (quota.Decision, error) {
	for i, c := range ask.Charges {
		p := a.Pool(c.Pool)
		f := quota.PoolFacts{Total: p.Log.Total, Entries: p.Log.Given(), Drain: p.Drain, Windows: facts[i].Windows[:0]}
		for _, lookup := range ask.Lookups(c, now) {
			f.Windows = append(f.Windows, p.Log.LookUp(lookup))
		}
		facts[i] = f
	}
	return quota.Decide(ask, clock, now, facts[:len(ask.Charges)])
}

// Draw decides, and charges what is allowed.
func (a *Account[M]) Draw(ask quota.Ask, clock, now time.Time, facts []quota.PoolFacts) (quota.Decision, error) {
	d, err := a.Decide(ask, clock, now, facts)
	if err != nil || !d.Allowed || ask.Peek {
		return d, err
	}
	for i, c := range ask.Charges {
		if c.Amount > 0 {
			p := a.Pool(c.Pool)
			p.Log.Forget(now.Add(-a.Horizon).UnixMicro())
			d.Pools[i].Entry = p.Log.Insert(now, c.Amount, ask.Who, ask.Precision)
		}
	}
	return d, nil
}

// Refund gives back what the decision charged; a may be nil.
func (a *Account[M]) Refund(d quota.Decision, now time.Time) error {
	if !d.Allowed || now.Sub(d.At) > quota.RefundWithin {
		return fmt.Errorf("%w: refused, or taken at %s", quota.ErrNotRefundable, d.At.Format(time.RFC3339))
	}
	if a == nil {
		return fmt.Errorf("%w: the account is empty", quota.ErrNotRefundable)
	}
	at := make([]int, len(d.Pools))
	for i, p := range d.Pools {
		if at[i] = a.Pool(p.Pool).Log.Find(d.At, p); at[i] < 0 {
			return fmt.Errorf("%w: pool %s has no such entry", quota.ErrNotRefundable, p.Pool)
		}
	}
	for i, p := range d.Pools {
		if p.Charged > 0 {
			a.Pool(p.Pool).Log.Remove(at[i])
		}
	}
	return nil
}

// Post records spends at their own time, or now if that is earlier.
func (a *Account[M]) Post(ask quota.Ask, at, now time.Time) {
	if at.After(now) {
		at = now
	}
	if now.Sub(at) >= a.Horizon {
		return
	}
	for _, c := range ask.Charges {
		if c.Amount > 0 {
			a.Pool(c.Pool).Log.Insert(at.Truncate(time.Microsecond), c.Amount, ask.Who, 0)
		}
	}
}

// Close drains a pool, or lifts its drain, unless the last drain stands.
func (p *Pool[M]) Close(d quota.Drain, now time.Time) {
	if d.Supersedes(p.Drain, now) {
		p.Drain = d
	}
}

// Reset forgets what was charged and drained; a may be nil.
func (a *Account[M]) Reset() {
	if a == nil {
		return
	}
	for _, p := range a.Pools {
		p.Log.Entries, p.Drain = nil, quota.Drain{}
	}
}

// Spent sums what was charged since, by pool and who; a may be nil.
func (a *Account[M]) Spent(since time.Time) (out []quota.Spent) {
	if a == nil {
		return nil
	}
	sums := map[quota.Spent]int64{}
	for _, p := range a.Pools {
		for _, e := range p.Log.Entries[p.Log.From(since.UnixMicro()):] {
			sums[quota.Spent{Pool: p.Name, Who: e.Who}] += e.Amount
		}
	}
	for s, amount := range sums {
		if s.Amount = amount; amount > 0 {
			out = append(out, s)
		}
	}
	quota.SortSpent(out)
	return out
}
