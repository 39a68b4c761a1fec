package quotatest_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/quotatest"
)

// tidying removes the accounts that have been idle for a day, with every 64th charge, and after that charge: if the
// account was idle until then, its own too.
type tidying struct {
	quotatest.Model

	used  map[string]time.Time
	count map[string]int
}

func (l *tidying) Take(ctx context.Context, a quota.Ask) (quota.Decision, error) {
	d, err := l.Model.Take(ctx, a)
	if err != nil || !d.Allowed || d.Pools[0].Charged == 0 {
		return d, err
	}
	if l.count[a.Account]++; l.count[a.Account]%64 == 0 && d.At.Sub(l.used[a.Account]) > 24*time.Hour {
		err = l.Reset(ctx, a.Account)
	}
	l.used[a.Account] = d.At
	return d, err
}

func TestSuiteCatchesALedgerThatCountsItsWholeLog(t *testing.T) {
	i := slices.IndexFunc(quotatest.Cases(), func(c quotatest.Case) bool { return c.ID == "L9" })
	why := failure(t, quotatest.Cases()[i], quotatest.Backend{Name: "the model", Many: 1000, Open: func(_ testing.TB, c *quotatest.Clock) quotatest.Store {
		return quotatest.Store{Ledger: &quotatest.Model{Now: c.Now}}
	}})
	if !strings.Contains(why, "with 1000") {
		t.Errorf("%q, want \"with 1000\" in it", why)
	}
}

func TestSuiteCatchesALedgerThatForgetsItsNewestCharge(t *testing.T) {
	i := slices.IndexFunc(quotatest.Cases(), func(c quotatest.Case) bool { return c.ID == "L1" })
	why := failure(t, quotatest.Cases()[i], quotatest.Backend{Name: "tidying", Open: func(_ testing.TB, c *quotatest.Clock) quotatest.Store {
		return quotatest.Store{Ledger: &tidying{quotatest.Model{Now: c.Now}, map[string]time.Time{}, map[string]int{}}}
	}})
	if !strings.Contains(why, "has 0 used, want 150") {
		t.Errorf("%q, want \"has 0 used, want 150\" in it", why)
	}
}
