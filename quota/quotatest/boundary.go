package quotatest

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/trendvidstream/ingest/quota"
)

// BoundaryLimit is how much Boundary's window of BoundaryWindow admits.
const (
	BoundaryLimit  = 50
	BoundaryWindow = 10 * time.Second
)

// Boundary sends a ledger traffic that distinguishes a sliding window from a counter that is reset: the whole limit
// just before the edge of a fixed window, and again just after it. It returns the units admitted within one
// BoundaryWindow.
func Boundary(t testing.TB, open func(t testing.TB, clock *Clock) quota.Ledger) int {
	t.Helper()
	start := noon.Truncate(BoundaryWindow)
	clock := NewClock(start)
	ledger := open(t, clock)
	var admitted []time.Time
	for _, at := range []time.Duration{9 * time.Second, 11 * time.Second} {
		clock.Set(start.Add(at))
		for range BoundaryLimit {
			d, err := ledger.Take(t.Context(), quota.Ask{Account: "boundary", Horizon: quota.MinHorizon, Now: clock.Now(),
				Who:     quota.Who{Purpose: quota.Manual},
				Charges: []quota.Charge{charge("units", 1, per(BoundaryWindow, BoundaryLimit))}})
			if err != nil {
				t.Fatal(err)
			}
			if d.Allowed {
				admitted = append(admitted, d.At)
			}
		}
	}
	return mostWithin(admitted, BoundaryWindow)
}

// FixedWindow counts as most limiters do: one counter per window, restarted at every multiple of its length. It is
// only for comparison.
type FixedWindow struct {
	Model // a shape that is not a window

	mu     sync.Mutex
	counts map[fixed]int64
}

type fixed struct {
	account, pool string
	length        time.Duration
	begin         time.Time
}

// Take implements quota.Ledger.
func (f *FixedWindow) Take(_ context.Context, a quota.Ask) (quota.Decision, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := f.Now().UTC()
	if err := a.Check(now); err != nil {
		return quota.Decision{}, err
	}
	if f.counts == nil {
		f.counts = map[fixed]int64{}
	}
	d := quota.Decision{Allowed: true, At: now, Who: a.Who}
	var keys []fixed
	for _, c := range a.Charges {
		p := quota.PoolState{Pool: c.Pool, Remaining: quota.MaxLimit}
		for _, b := range c.Bounds {
			length := b.Window.Length
			if b.Window.Day() {
				length = 24 * time.Hour
			}
			key := fixed{a.Account, c.Pool, length, now.Truncate(length)}
			used := f.counts[key]
			p.Windows = append(p.Windows, quota.WindowState{Window: b.Window, Ceiling: b.Ceiling,
				Used: used, FreesAt: key.begin.Add(length)})
			p.Remaining = min(p.Remaining, max(b.Ceiling-used, 0))
			keys = append(keys, key)
			if wait := key.begin.Add(length).Sub(now); c.Amount > 0 && used+c.Amount > b.Ceiling && wait > d.RetryAfter {
				d.Allowed, d.RetryAfter = false, max(wait.Truncate(time.Millisecond), time.Millisecond)
				d.RetryAt = now.Add(d.RetryAfter)
				d.Refusal = &quota.Refusal{Pool: c.Pool, Window: b.Window.Name, Used: used, Ceiling: b.Ceiling,
					Limit: b.Window.Limit}
			}
		}
		d.Pools = append(d.Pools, p)
	}
	if !d.Allowed {
		return d, nil
	}
	for i, c := range a.Charges {
		p := &d.Pools[i]
		p.Charged, p.Remaining = c.Amount, p.Remaining-c.Amount
		for w := range p.Windows {
			p.Windows[w].Used += c.Amount
			f.counts[keys[0]] += c.Amount
			keys = keys[1:]
		}
	}
	return d, nil
}
