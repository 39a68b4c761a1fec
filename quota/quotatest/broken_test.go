package quotatest_test

import (
	"context"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/quotatest"
)

// The suite proves itself: each ledger here is broken as limiters in the field are, and fails the case that is named
// with it. The model, which is not broken, passes that case.
func TestSuiteCatchesBrokenLedgers(t *testing.T) {
	for _, b := range []struct {
		name   string
		caught string // the case's name starts with it
		open   func(clock *quotatest.Clock) quotatest.Store
	}{
		{"a fixed window", "A2 a burst at the edge", func(c *quotatest.Clock) quotatest.Store {
			return quotatest.Store{Ledger: &quotatest.FixedWindow{Model: quotatest.Model{Now: c.Now}}}
		}},
		{"read, then write, without a lock", "A7 many writers on one ledger", func(c *quotatest.Clock) quotatest.Store {
			return quotatest.Store{Ledger: &unlocked{tally{Model: quotatest.Model{Now: c.Now}}}}
		}},
		{"a set of times, without counts", "A5 a clock that stands still", func(c *quotatest.Clock) quotatest.Store {
			return quotatest.Store{Ledger: &onlyTime{tally{Model: quotatest.Model{Now: c.Now}}}}
		}},
		{"a counter incremented again when a reply is lost", "G1 a lost reply", func(c *quotatest.Clock) quotatest.Store {
			l := &resending{Model: quotatest.Model{Now: c.Now}}
			return quotatest.Store{Ledger: l, LoseReply: func(testing.TB) { l.lost = true }}
		}},
		{"state that may be evicted unnoticed", "G5 a ledger that lost its state", func(c *quotatest.Clock) quotatest.Store {
			l := &forgetful{Model: &quotatest.Model{Now: c.Now}}
			return quotatest.Store{Ledger: l, Evict: func(testing.TB) { l.Model = &quotatest.Model{Now: c.Now} }}
		}},
		{"a retry-after from the oldest entry", "C1 retry-after is exact for every cost", func(c *quotatest.Clock) quotatest.Store {
			return quotatest.Store{Ledger: &oldestFirst{quotatest.Model{Now: c.Now}}}
		}},
		{"24 hours for the day of 25", "I1 the day of 25 hours", func(c *quotatest.Clock) quotatest.Store {
			return quotatest.Store{Ledger: &dayless{quotatest.Model{Now: c.Now}}}
		}},
		{"a day that opens by the clock alone", "K5 a clock that is ahead", func(c *quotatest.Clock) quotatest.Store {
			return quotatest.Store{Ledger: &punctual{quotatest.Model{Now: c.Now}}}
		}},
		{"a trim before the decision", "A8 a refusal changes nothing", func(c *quotatest.Clock) quotatest.Store {
			return quotatest.Store{Ledger: &trimming{tally{Model: quotatest.Model{Now: c.Now}}, map[[2]string]int64{}}}
		}},
		{"a reset that keeps its newest time", "L4 after a clock a year ahead", func(c *quotatest.Clock) quotatest.Store {
			return quotatest.Store{Ledger: &ratchet{Model: quotatest.Model{Now: c.Now}}}
		}},
		{"any clock is believed", "L4 a clock a year behind", func(c *quotatest.Clock) quotatest.Store {
			return quotatest.Store{Ledger: &dateless{tally{Model: quotatest.Model{Now: c.Now}}}}
		}},
		{"a drain that resets all", "L4 a clock a year behind is not believed, even days later",
			func(c *quotatest.Clock) quotatest.Store {
				return quotatest.Store{Ledger: &renewing{quotatest.Model{Now: c.Now}}}
			}},
		{"a sum that wraps around", "B4 a senseless ask", func(c *quotatest.Clock) quotatest.Store {
			return quotatest.Store{Ledger: &wrapping{tally{Model: quotatest.Model{Now: c.Now}}}}
		}},
		{"an unchecked ask", "L7 an ask that contradicts itself", func(c *quotatest.Clock) quotatest.Store {
			return quotatest.Store{Ledger: &lenient{quotatest.Model{Now: c.Now}}}
		}},
		{"an unchecked drain", "L7 a drain that contradicts itself", func(c *quotatest.Clock) quotatest.Store {
			return quotatest.Store{Ledger: &lenient{quotatest.Model{Now: c.Now}}}
		}},
	} {
		t.Run(b.name, func(t *testing.T) {
			broken := quotatest.Backend{Name: b.name, Steps: 400, Entries: 50,
				Open: func(_ testing.TB, c *quotatest.Clock) quotatest.Store { return b.open(c) }}
			healthy := broken
			healthy.Open = func(_ testing.TB, c *quotatest.Clock) quotatest.Store {
				safe := &safe{Model: &quotatest.Model{Now: c.Now}}
				return quotatest.Store{Ledger: safe, LoseReply: func(testing.TB) { safe.lose = true }, Evict: func(testing.TB) { safe.gone = true }}
			}
			hit := false
			for _, c := range quotatest.Cases() {
				if !strings.HasPrefix(c.String(), b.caught) {
					continue
				}
				hit = true
				why := failure(t, c, broken)
				if why == "" {
					t.Errorf("%s: %s passes", b.name, c)
				}
				if why := failure(t, c, healthy); why != "" {
					t.Errorf("%s is red for a ledger that is not broken: %s", c, why)
				}
				t.Logf("%s is caught by %s: %s", b.name, c, why)
			}
			if !hit {
				t.Errorf("there is no case %q", b.caught)
			}
		})
	}
}

// failure is a case's message against a backend, "" when there is none.
func failure(t *testing.T, c quotatest.Case, b quotatest.Backend) string {
	t.Helper()
	return said(t, func(t testing.TB) { c.Check(t, b) })
}

// said is a test's message, "" when there is none.
func said(t *testing.T, check func(testing.TB)) string {
	t.Helper()
	r := &recorder{TB: t}
	var wg sync.WaitGroup
	wg.Go(func() { // FailNow ends the goroutine it is called in
		defer func() {
			if p := recover(); p != nil {
				r.Errorf("panic: %v", p)
			}
		}()
		check(r)
	})
	wg.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.Join(r.said, "; ")
}

// recorder is a testing.TB that keeps failures.
type recorder struct {
	testing.TB

	mu   sync.Mutex
	said []string
}

func (r *recorder) Errorf(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.said = append(r.said, fmt.Sprintf(format, args...))
}

func (r *recorder) Error(args ...any)                 { r.Errorf("%s", fmt.Sprint(args...)) }
func (r *recorder) Fatal(args ...any)                 { r.Errorf("%s", fmt.Sprint(args...)); runtime.Goexit() }
func (r *recorder) Fatalf(format string, args ...any) { r.Errorf(format, args...); runtime.Goexit() }
func (r *recorder) Fail()                             { r.Errorf("failed") }
func (r *recorder) FailNow()                          { r.Errorf("failed"); runtime.Goexit() }
func (r *recorder) Failed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.said) > 0
}
func (r *recorder) Log(...any)          {}
func (r *recorder) Logf(string, ...any) {}

// tally logs one entry per charge, as a base for broken ledgers: right for sliding windows and one
// caller at a time.
type tally struct {
	quotatest.Model // all methods except Take

	mu      sync.Mutex
	entries []tallied
}

type tallied struct {
	account, pool string
	at            time.Time
	amount        int64
}

// used are the entries in a window, and their sum.
func (l *tally) used(a quota.Ask, pool string, length time.Duration, now time.Time) (in []tallied, sum int64) {
	for _, e := range l.entries {
		if e.account == a.Account && e.pool == pool && now.Before(e.at.Add(length+a.Grace)) {
			in, sum = append(in, e), sum+e.amount
		}
	}
	return in, sum
}

// sums returns the use in a window.
func (l *tally) sums(a quota.Ask, now time.Time) func(quota.Charge, quota.Bound) int64 {
	return func(c quota.Charge, b quota.Bound) int64 {
		_, sum := l.used(a, c.Pool, b.Window.Length, now)
		return sum
	}
}

// decide answers an ask; count returns a window's use.
func (l *tally) decide(a quota.Ask, now time.Time, count func(c quota.Charge, b quota.Bound) int64) quota.Decision {
	d := quota.Decision{Allowed: true, At: now, Who: a.Who}
	for _, c := range a.Charges {
		p := quota.PoolState{Pool: c.Pool, Remaining: quota.MaxLimit}
		for _, b := range c.Bounds {
			used := count(c, b)
			p.Windows = append(p.Windows, quota.WindowState{Window: b.Window, Ceiling: b.Ceiling, Used: used})
			p.Remaining = min(p.Remaining, max(b.Ceiling-used, 0))
			if c.Amount > 0 && used+c.Amount > b.Ceiling && d.Allowed {
				in, _ := l.used(a, c.Pool, b.Window.Length, now)
				d.Allowed, d.RetryAfter = false, time.Millisecond
				d.Refusal = &quota.Refusal{Pool: c.Pool, Window: b.Window.Name, Used: used, Ceiling: b.Ceiling, Limit: b.Window.Limit}
				left := used
				for _, e := range in {
					if left -= e.amount; left+c.Amount <= b.Ceiling {
						d.RetryAfter = e.at.Add(b.Window.Length + a.Grace).Sub(now)
						break
					}
				}
				d.RetryAt = now.Add(d.RetryAfter)
			}
		}
		d.Pools = append(d.Pools, p)
	}
	return d
}

// write charges the admitted amounts.
func (l *tally) write(a quota.Ask, d *quota.Decision) {
	for i, c := range a.Charges {
		if !d.Allowed || c.Amount == 0 {
			continue
		}
		l.entries = append(l.entries, tallied{a.Account, c.Pool, d.At, c.Amount})
		p := &d.Pools[i]
		p.Charged, p.Remaining = c.Amount, p.Remaining-c.Amount
		for w := range p.Windows {
			p.Windows[w].Used += c.Amount
		}
	}
}

// unlocked reads under one lock and writes under the next, as a GET and a SET do.
type unlocked struct{ tally }

func (l *unlocked) Take(_ context.Context, a quota.Ask) (quota.Decision, error) {
	now := l.Now()
	if err := a.Check(now); err != nil {
		return quota.Decision{}, err
	}
	l.mu.Lock()
	d := l.decide(a, now, l.sums(a, now))
	l.mu.Unlock()
	for range 5 {
		runtime.Gosched() // others read here, too
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.write(a, &d)
	return d, nil
}

// onlyTime keeps a set of times: a second member of the same time replaces the first.
type onlyTime struct{ tally }

func (l *onlyTime) Take(_ context.Context, a quota.Ask) (quota.Decision, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.Now()
	if err := a.Check(now); err != nil {
		return quota.Decision{}, err
	}
	d := l.decide(a, now, l.sums(a, now))
	if d.Allowed {
		l.entries = slices.DeleteFunc(l.entries, func(e tallied) bool { return e.account == a.Account && e.at.Equal(now) })
	}
	l.write(a, &d)
	return d, nil
}

// trimming drops entries that have left the window, then decides by the sum that it keeps beside the entries. When it
// refuses, the entries are gone, but the kept sum counts them.
type trimming struct {
	tally

	sums map[[2]string]int64
}

func (l *trimming) Take(_ context.Context, a quota.Ask) (quota.Decision, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.Now()
	if err := a.Check(now); err != nil {
		return quota.Decision{}, err
	}
	sums := maps.Clone(l.sums)
	for _, c := range a.Charges {
		l.entries = slices.DeleteFunc(l.entries, func(e tallied) bool {
			gone := e.account == a.Account && e.pool == c.Pool && !now.Before(e.at.Add(longest(c)+a.Grace))
			if gone {
				sums[[2]string{e.account, e.pool}] -= e.amount
			}
			return gone
		})
	}
	d := l.decide(a, now, func(c quota.Charge, _ quota.Bound) int64 { return sums[[2]string{a.Account, c.Pool}] })
	l.write(a, &d)
	if d.Allowed {
		for _, p := range d.Pools {
			sums[[2]string{a.Account, p.Pool}] += p.Charged
		}
		l.sums = sums
	}
	return d, nil
}

func longest(c quota.Charge) time.Duration {
	length := time.Duration(0)
	for _, b := range c.Bounds {
		length = max(length, b.Window.Length)
	}
	return length
}

// resending sends a take again when it hears nothing, as client libraries do by themselves.
type resending struct {
	quotatest.Model

	lost bool
}

func (l *resending) Take(ctx context.Context, a quota.Ask) (quota.Decision, error) {
	d, err := l.Model.Take(ctx, a)
	if l.lost {
		l.lost = false
		return l.Model.Take(ctx, a)
	}
	return d, err
}

// forgetful does not notice that entries were lost.
type forgetful struct{ *quotatest.Model }

// safe returns ErrUnavailable after a lost reply and once evicted.
type safe struct {
	*quotatest.Model

	lose, gone bool
}

func (l *safe) Take(ctx context.Context, a quota.Ask) (quota.Decision, error) {
	if l.gone {
		return quota.Decision{}, quota.ErrUnavailable
	}
	d, err := l.Model.Take(ctx, a)
	if l.lose {
		l.lose = false
		return quota.Decision{}, quota.ErrUnavailable
	}
	return d, err
}

// oldestFirst promises room when the oldest entry leaves, whatever the cost.
type oldestFirst struct{ quotatest.Model }

func (l *oldestFirst) Take(ctx context.Context, a quota.Ask) (quota.Decision, error) {
	d, err := l.Model.Take(ctx, a)
	if err == nil && !d.Allowed {
		for _, p := range d.Pools {
			for _, w := range p.Windows {
				if w.Window.Name == d.Refusal.Window && p.Pool == d.Refusal.Pool && w.Used > 0 {
					d.RetryAfter = max(w.FreesAt.Sub(d.At).Truncate(time.Millisecond), time.Millisecond)
					d.RetryAt = d.At.Add(d.RetryAfter)
				}
			}
		}
	}
	return d, err
}
