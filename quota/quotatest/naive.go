package quotatest

import (
	"fmt"
	"slices"
	"time"

	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/internal/protocol"
)

// naive is a ledger's history of asks and answers, as a flat list. It answers every question by going through the
// whole list again, from the definition of a window alone, and shares no code with quota.Ask.Decide or Model.
type naive struct {
	entries []naiveEntry
	drains  map[string]quota.Drain // by pool
}

type naiveEntry struct {
	pool   string
	at     time.Time
	amount int64 // 0 once given back
	who    quota.Who
}

// decidesAt returns the time at which a ledger with this clock decides, as a log is ordered. ok is false for a clock
// further behind than may be believed.
func (n *naive) decidesAt(a quota.Ask, clock time.Time) (now time.Time, ok bool) {
	now = clock
	for _, c := range a.Charges {
		for _, e := range n.entries {
			if e.pool == c.Pool && e.at.After(now) {
				now = e.at
			}
		}
	}
	gap := time.Minute
	if a.Gap > 0 {
		gap = min(gap, a.Gap)
	}
	return now, now.Sub(clock) <= gap
}

// inWindow reports whether an amount spent at counts at now: until the window's length and the grace are over, or in
// the provider's day that holds then, which lasts until the grace after its end and has begun the grace early.
func inWindow(a quota.Ask, w quota.Window, at, now time.Time) bool {
	if w.Length > 0 {
		return now.Before(at.Add(w.Length + a.Grace))
	}
	began := time.Time{}
	for _, midnight := range a.Midnights {
		if !now.Before(midnight.Add(a.Grace)) {
			began = midnight.Add(-a.Grace)
		}
	}
	return !at.Before(began)
}

// used returns the use in a window of a pool at now.
func (n *naive) used(a quota.Ask, pool string, w quota.Window, now time.Time) (sum int64) {
	for _, e := range n.entries {
		if e.pool == pool && inWindow(a, w, e.at, now) {
			sum += e.amount
		}
	}
	return sum
}

// fits reports whether all charges fit at now.
func (n *naive) fits(a quota.Ask, now time.Time) bool {
	for _, c := range a.Charges {
		if c.Amount == 0 {
			continue
		}
		if now.Before(n.drains[c.Pool].Until) {
			return false
		}
		for _, b := range c.Bounds {
			if n.used(a, c.Pool, b.Window, now)+c.Amount > b.Ceiling {
				return false
			}
		}
	}
	return true
}

// changes returns the times after now at which anything that counts now may count no longer, in order.
func (n *naive) changes(a quota.Ask, now time.Time) (out []time.Time) {
	for _, c := range a.Charges {
		out = append(out, n.drains[c.Pool].Until)
		for _, b := range c.Bounds {
			for _, e := range n.entries {
				if e.pool == c.Pool && e.amount > 0 && b.Window.Length > 0 {
					out = append(out, e.at.Add(b.Window.Length+a.Grace))
				}
			}
		}
	}
	for _, midnight := range a.Midnights {
		out = append(out, midnight.Add(a.Grace))
	}
	out = slices.DeleteFunc(out, func(t time.Time) bool { return !t.After(now) })
	slices.SortFunc(out, time.Time.Compare)
	return out
}

// check compares an answer with the list at the time of the ask.
func (n *naive) check(a quota.Ask, clock time.Time, d quota.Decision) error {
	now, _ := n.decidesAt(a, clock)
	fits := n.fits(a, now)
	if !d.At.Equal(now) || d.Allowed != fits {
		return fmt.Errorf("decided at %s, allowed %t, want at %s %t", d.At, d.Allowed, now, fits)
	}
	after := n
	if fits && !a.Peek {
		after = &naive{append(slices.Clip(n.entries), n.charges(a, now)...), n.drains}
	}
	for i, c := range a.Charges {
		if err := after.checkPool(a, c, now, d.Pools[i]); err != nil {
			return fmt.Errorf("pool %s: %w", c.Pool, err)
		}
	}
	if fits {
		return nil
	}
	return n.checkRefusal(a, clock, now, d)
}

// checkPool compares an answer's pool with the list as it is after the answer.
func (n *naive) checkPool(a quota.Ask, c quota.Charge, now time.Time, p quota.PoolState) error {
	left := int64(quota.MaxLimit)
	for j, b := range c.Bounds {
		used := n.used(a, c.Pool, b.Window, now)
		left = min(left, max(b.Ceiling-used, 0))
		if frees := n.frees(a, c.Pool, b.Window, now); p.Windows[j].Used != used || !p.Windows[j].FreesAt.Equal(frees) {
			return fmt.Errorf("window %s has %d used and frees at %s, want %d, %s", b.Window.Name,
				p.Windows[j].Used, p.Windows[j].FreesAt, used, frees)
		}
	}
	drain := n.drains[c.Pool]
	if !now.Before(drain.Until) {
		drain = quota.Drain{}
	} else {
		left = 0
	}
	if p.Remaining != left || !p.Drain.Equal(drain) {
		return fmt.Errorf("%d remain, drained %+v, want %d, %+v", p.Remaining, p.Drain, left, drain)
	}
	return nil
}

// frees returns when the oldest that counts in a window leaves it, or the provider's day ends.
func (n *naive) frees(a quota.Ask, pool string, w quota.Window, now time.Time) (first time.Time) {
	if w.Length == 0 {
		for _, midnight := range slices.Backward(a.Midnights) {
			if end := midnight.Add(a.Grace); end.After(now) {
				first = end
			}
		}
		return first
	}
	for _, e := range n.entries {
		leaves := e.at.Add(w.Length + a.Grace)
		if e.pool == pool && e.amount > 0 && leaves.After(now) && (first.IsZero() || leaves.Before(first)) {
			first = leaves
		}
	}
	return first
}

// checkRefusal wants the first time at which everything fits, and a window that stands in the way until then.
func (n *naive) checkRefusal(a quota.Ask, clock, now time.Time, d quota.Decision) error {
	before := now
	for _, t := range n.changes(a, now) {
		if !n.fits(a, t) {
			before = t
			continue
		}
		wait := t.Sub(clock)
		if late := wait % time.Millisecond; late > 0 {
			wait += time.Millisecond - late
		}
		if !d.RetryAt.Equal(t) || d.RetryAfter != wait {
			return fmt.Errorf("retry at %s, after %v, want %s, %v", d.RetryAt, d.RetryAfter, t, wait)
		}
		alone := a
		i := slices.IndexFunc(a.Charges, func(c quota.Charge) bool { return c.Pool == d.Refusal.Pool })
		if i < 0 {
			return fmt.Errorf("refused by pool %s, which was not asked for", d.Refusal.Pool)
		}
		c := a.Charges[i]
		if d.Refusal.Window != protocol.DrainWindow {
			c.Bounds = slices.DeleteFunc(slices.Clone(c.Bounds),
				func(b quota.Bound) bool { return b.Window.Name != d.Refusal.Window })
		}
		if alone.Charges = []quota.Charge{c}; len(c.Bounds) == 0 || n.fits(alone, before) {
			return fmt.Errorf("refused by window %s of %s, which has room before %s", d.Refusal.Window, d.Refusal.Pool, t)
		}
		return nil
	}
	return fmt.Errorf("refused, and nothing that may change makes it fit")
}

// charges returns the entries of an ask.
func (n *naive) charges(a quota.Ask, at time.Time) (out []naiveEntry) {
	for _, c := range a.Charges {
		if c.Amount > 0 {
			out = append(out, naiveEntry{c.Pool, at, c.Amount, a.Who})
		}
	}
	return out
}

// spent returns the charges since, by pool and spender.
func (n *naive) spent(since time.Time, every time.Duration) map[quota.Spent]int64 {
	sums := map[quota.Spent]int64{}
	for _, e := range n.entries {
		if !e.at.Before(since) && e.amount > 0 {
			part := int64(0)
			if every > 0 {
				part = int64(e.at.Sub(since) / every)
			}
			sums[quota.Spent{Pool: e.pool, Who: e.who, Part: part}] += e.amount
		}
	}
	return sums
}
