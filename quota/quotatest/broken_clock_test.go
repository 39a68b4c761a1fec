package quotatest_test

import (
	"context"
	"slices"
	"time"

	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/quotatest"
)

// punctual ends each day at its midnight, as if its clock were never ahead.
type punctual struct{ quotatest.Model }

func (l *punctual) Take(ctx context.Context, a quota.Ask) (quota.Decision, error) {
	a.Midnights = slices.Clone(a.Midnights)
	for i, midnight := range a.Midnights {
		a.Midnights[i] = midnight.Add(-a.Grace)
	}
	return l.Model.Take(ctx, a)
}

// dateless decides by its clock, right or wrong: an entry in the future is not yet spent.
type dateless struct{ tally }

func (l *dateless) Take(_ context.Context, a quota.Ask) (quota.Decision, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.Now()
	d := l.decide(a, now, func(c quota.Charge, b quota.Bound) (sum int64) {
		in, _ := l.used(a, c.Pool, b.Window.Length, now)
		for _, e := range in {
			if !e.at.After(now) {
				sum += e.amount
			}
		}
		return sum
	})
	l.write(a, &d)
	return d, nil
}

// wrapping adds up amounts of any size: a sum beyond the counted range begins again below nothing.
type wrapping struct{ tally }

func (l *wrapping) Take(_ context.Context, a quota.Ask) (quota.Decision, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if a.Charges[0].Amount < 0 {
		return quota.Decision{}, quota.ErrNeverFits
	}
	d := l.decide(a, l.Now(), l.sums(a, l.Now()))
	l.write(a, &d)
	return d, nil
}

// ratchet never forgets its newest time.
type ratchet struct {
	quotatest.Model

	newest time.Time
}

func (l *ratchet) Take(ctx context.Context, a quota.Ask) (quota.Decision, error) {
	if l.newest.Sub(l.Now()) > time.Minute {
		return quota.Decision{}, quota.ErrUnavailable
	}
	d, err := l.Model.Take(ctx, a)
	if err == nil && d.Allowed && d.At.After(l.newest) {
		l.newest = d.At
	}
	return d, err
}

// renewing writes down a drain as if the pool had never been used.
type renewing struct{ quotatest.Model }

func (l *renewing) Drain(ctx context.Context, account, pool string, d quota.Drain) error {
	if err := l.Reset(ctx, account); err != nil {
		return err
	}
	return l.Model.Drain(ctx, account, pool, d)
}

// lenient acts on any ask.
type lenient struct{ quotatest.Model }

func (l *lenient) Take(ctx context.Context, a quota.Ask) (quota.Decision, error) {
	if a.Check(l.Now()) == nil {
		return l.Model.Take(ctx, a)
	}
	return quota.Decision{Allowed: true}, nil
}

func (l *lenient) Drain(ctx context.Context, account, pool string, d quota.Drain) error {
	if d.Check(account, pool) == nil {
		return l.Model.Drain(ctx, account, pool, d)
	}
	return nil
}

// dayless takes the provider's day for any 24 hours.
type dayless struct{ quotatest.Model }

func (l *dayless) Take(ctx context.Context, a quota.Ask) (quota.Decision, error) {
	asked := a
	asked.Charges = nil
	for _, c := range a.Charges {
		c.Bounds = slices.Clone(c.Bounds)
		for i := range c.Bounds {
			if c.Bounds[i].Window.Day() {
				c.Bounds[i].Window.Length = 24 * time.Hour
			}
		}
		asked.Charges = append(asked.Charges, c)
	}
	d, err := l.Model.Take(ctx, asked)
	for i := range d.Pools {
		for j := range d.Pools[i].Windows {
			d.Pools[i].Windows[j].Window = a.Charges[i].Bounds[j].Window
		}
	}
	return d, err
}
