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

// lenient acts on whatever it is asked.
type lenient struct{ quotatest.Model }

func (l *lenient) Take(ctx context.Context, a quota.Ask) (quota.Decision, error) {
	if a.Check(l.Now()) == nil {
		return l.Model.Take(ctx, a)
	}
	return quota.Decision{Allowed: true}, nil
}

func (l *lenient) Drain(ctx context.Context, account, pool string, d quota.Drain) error {
	if quota.CheckDrain(account, pool, d) == nil {
		return l.Model.Drain(ctx, account, pool, d)
	}
	return nil
}
