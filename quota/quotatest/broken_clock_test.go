package quotatest_test

import (
	"context"
	"slices"

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
