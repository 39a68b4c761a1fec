// Package memlog keeps accounts in memory, for several ledgers.
package memlog

import (
	"fmt"
	"slices"
	"sort"
	"time"

	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/internal/protocol"
)

// Account is one account in memory: its pools, their logs, their drains. It does not lock. The zero value is empty.
type Account[M comparable] struct {
	Horizon time.Duration // the longest requested
	Used    time.Time     // when it was last charged, posted to, drained or peeked at
	Pools   []*Pool[M]    // few, so that a linear search is enough
}

// Pool is one pool of an account.
type Pool[M comparable] struct {
	Name  string
	Log   Log[M]
	Drain quota.Drain // the last one, even if it is over
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

// Find returns the pool of that name, nil if there is none.
func (a *Account[M]) Find(name string) *Pool[M] {
	for _, p := range a.Pools {
		if p.Name == name {
			return p
		}
	}
	return nil
}

// Use records a use of the account, and that entries must be kept for the horizon.
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

// Decide decides, and charges nothing.
func (a *Account[M]) Decide(ask quota.Ask, clock, now time.Time) (quota.Decision, error) {
	facts := make([]quota.PoolFacts, len(ask.Charges))
	for i, c := range ask.Charges {
		p := a.Pool(c.Pool)
		facts[i] = quota.PoolFacts{Total: p.Log.Total, Entries: p.Log.Given(), Drain: p.Drain}
		for _, lookup := range ask.Lookups(c, now) {
			facts[i].Windows = append(facts[i].Windows, p.Log.Answer(lookup))
		}
	}
	return ask.Decide(clock, now, facts)
}

// Draw decides, and charges if allowed.
func (a *Account[M]) Draw(ask quota.Ask, clock, now time.Time) (quota.Decision, error) {
	d, err := a.Decide(ask, clock, now)
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

// Refund gives back the decision's charges; a may be nil.
func (a *Account[M]) Refund(d quota.Decision, now time.Time) error {
	if !d.Allowed || now.Sub(d.At) > protocol.RefundWithin {
		return fmt.Errorf("%w: the take was refused, or was at %s, too long ago", quota.ErrNotRefundable,
			d.At.UTC().Format(time.DateTime+"Z"))
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

// Post records spends at their own time, or now if that is earlier. It ignores spends older than the horizon.
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

// Reset deletes charges and drains; a may be nil.
func (a *Account[M]) Reset() {
	if a == nil {
		return
	}
	for _, p := range a.Pools {
		p.Log.Entries, p.Drain = nil, quota.Drain{}
	}
}

// Spent sums the charges since a time, by pool and spender; a may be nil.
func (a *Account[M]) Spent(since time.Time, every time.Duration) (out []quota.Spent) {
	if a == nil {
		return nil
	}
	sums := map[quota.Spent]int64{}
	for _, p := range a.Pools {
		for _, e := range p.Log.Entries[p.Log.From(since.UnixMicro()):] {
			sums[quota.Spent{Pool: p.Name, Who: e.Who, Part: protocol.Part(e.At, since.UnixMicro(), every)}] += e.Amount
		}
	}
	for s, amount := range sums {
		if s.Amount = amount; amount > 0 {
			out = append(out, s)
		}
	}
	slices.SortFunc(out, quota.Spent.Compare)
	return out
}

// Log is ordered by time, then by number. M is a ledger's own note on each entry. The zero value is empty.
type Log[M comparable] struct {
	Total   int64
	Entries []Entry[M]
	number  int64
}

// Entry is one charge.
type Entry[M comparable] struct {
	Note   M
	At     int64 // microseconds since 1970
	Number int64
	Before int64 // the sum of all earlier entries
	Amount int64
	Who    quota.Who
}

// Newest returns the time of the newest entry; zero: there is none.
func (l *Log[M]) Newest() (t time.Time) {
	if n := len(l.Entries); n > 0 {
		t = protocol.Time(l.Entries[n-1].At)
	}
	return t
}

// Given returns how many entries were ever added.
func (l *Log[M]) Given() int64 { return l.number }

// Answer finds the facts about one window.
func (l *Log[M]) Answer(w quota.Lookup) (f quota.WindowFacts) {
	f.Before, f.First = l.Sum(w.Start)
	if w.Refuses(l.Total, f.Before) {
		if w.Next > 0 {
			f.NextStart, _ = l.Sum(w.Next)
		} else {
			f.Leaves = l.reaching(w.Needs(l.Total))
		}
	}
	return f
}

// Sum returns the sum of the entries before t, and the time of the first entry after those: 0 if there is none.
func (l *Log[M]) Sum(t int64) (sum, first int64) {
	if i := l.From(t); i < len(l.Entries) {
		return l.Entries[i].Before, l.Entries[i].At
	}
	return l.Total, 0
}

// reaching returns the time of the first entry at which the running sum reaches c; 0 if there is none.
func (l *Log[M]) reaching(c int64) int64 {
	if i := sort.Search(len(l.Entries),
		func(i int) bool { return l.Entries[i].Before+l.Entries[i].Amount >= c }); i < len(l.Entries) {
		return l.Entries[i].At
	}
	return 0
}

// From returns the index of the first entry at t or later.
func (l *Log[M]) From(t int64) int {
	return sort.Search(len(l.Entries), func(i int) bool { return l.Entries[i].At >= t })
}

// Insert adds an entry after the entries of the same time and returns its number. With precision, the newest entry of
// the same spender and step is moved to now and raised instead: it then counts longer, never shorter.
func (l *Log[M]) Insert(at time.Time, amount int64, who quota.Who, precision time.Duration) int64 {
	us := at.UnixMicro()
	l.dropEmptied(us)
	var none M
	if n := len(l.Entries); precision > 0 && n > 0 {
		if e := &l.Entries[n-1]; e.Who == who && e.Note == none &&
			at.Truncate(precision).Equal(protocol.Time(e.At).Truncate(precision)) {
			e.At, e.Amount = us, e.Amount+amount
			l.Total += amount
			l.number++ // it grows with every charge
			return e.Number
		}
	}
	l.number++
	i := l.From(us + 1)
	e := Entry[M]{At: us, Number: l.number, Who: who}
	e.Before, _ = l.Sum(us + 1)
	l.Entries = slices.Insert(l.Entries, i, e)
	l.Add(i, amount)
	return l.number
}

// dropEmptied removes the newest entry if its amount is 0 and its time is at most the parameter before; see Remove.
func (l *Log[M]) dropEmptied(before int64) {
	if n := len(l.Entries); n > 0 && l.Entries[n-1].Amount == 0 && l.Entries[n-1].At <= before {
		l.Entries = l.Entries[:n-1]
	}
}

// Replace replaces all entries, numbers those without a number, and computes the sums.
func (l *Log[M]) Replace(entries []Entry[M]) {
	sum, _ := l.Sum(0)
	for i := range entries {
		e := &entries[i]
		if e.Number == 0 {
			l.number++
			e.Number = l.number
		}
		e.Before = sum
		sum += e.Amount
	}
	l.Entries, l.Total = entries, sum
}

// Add raises entry i, and all sums after it, by amount.
func (l *Log[M]) Add(i int, amount int64) {
	l.Entries[i].Amount += amount
	for j := i + 1; j < len(l.Entries); j++ {
		l.Entries[j].Before += amount
	}
	l.Total += amount
}

// Remove deletes entry i, so that no window waits for it. The newest is only emptied until another follows, since the
// ledger's clock must not fall behind it.
func (l *Log[M]) Remove(i int) {
	l.Add(i, -l.Entries[i].Amount)
	if i < len(l.Entries)-1 {
		l.Entries = slices.Delete(l.Entries, i, i+1)
	}
}

// Find returns the index of the entry that a decision wrote, -1 if it is gone or was changed.
func (l *Log[M]) Find(at time.Time, p quota.PoolState) int {
	us := at.UnixMicro()
	for i := l.From(us); i < len(l.Entries) && l.Entries[i].At == us; i++ {
		if e := l.Entries[i]; e.Number == p.Entry && e.Amount == p.Charged {
			return i
		}
	}
	if p.Charged == 0 {
		return 0
	}
	return -1
}

// Forget drops the entries older than t.
func (l *Log[M]) Forget(t int64) {
	l.Entries = l.Entries[l.From(t):] // append copies the rest once the array is full
	if l.Total < 1<<60 {
		return
	}
	base, _ := l.Sum(0) // long before the sums overflow
	for i := range l.Entries {
		l.Entries[i].Before -= base
	}
	l.Total -= base
}
