package memledger_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/memledger"
	"github.com/trendvidstream/ingest/quota/quotatest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestConformance(t *testing.T) {
	quotatest.Run(t, backend(5000))
}

func backend(keys int) quotatest.Backend {
	return quotatest.Backend{
		Name: "memledger", Keys: keys,
		Open: func(_ testing.TB, clock *quotatest.Clock) quotatest.Store {
			l := &memledger.Ledger{Now: clock.Now}
			return quotatest.Store{Ledger: l, Footprint: func(testing.TB) quotatest.Footprint {
				return quotatest.Footprint{Accounts: l.Accounts(), Entries: l.Entries()}
			}}
		},
		Without: map[quotatest.Capability]string{
			quotatest.Another:   "it lives in one process",
			quotatest.Address:   "it lives in one process",
			quotatest.LoseReply: "no reply is ever on its way",
			quotatest.Evict:     "nobody else can reach its state",
			quotatest.OwnClock:  "its clock is its caller's",
			quotatest.InFile:    "it is in memory",
		},
	}
}

// A hundred thousand accounts; TestConformance makes five thousand.
func TestLongOneOffAccounts(t *testing.T) {
	for _, c := range quotatest.Cases() {
		if c.ID == "F2" {
			c.Check(t, backend(100_000))
		}
	}
}

// Random steps of another seed each time: see quotatest.Differential.
func TestDifferential(t *testing.T) { quotatest.Differential(t, backend(1), 20_000) }

func TestSoakDifferential(t *testing.T) { quotatest.SoakDifferential(t, backend(1)) }

func TestNothingIsDoneForACallerWhoHasGone(t *testing.T) {
	l := &memledger.Ledger{}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	a := quota.Ask{Account: "a", Horizon: quota.MinHorizon, Charges: []quota.Charge{{Pool: "units", Amount: 1, Bounds: []quota.Bound{{
		Window: quota.Window{Name: "1h", Length: time.Hour, Limit: 5}, Ceiling: 5}}}}}
	_, takeErr := l.Take(gone, a)
	_, spentErr := l.Spent(gone, "a", time.Time{}, 0)
	for name, err := range map[string]error{
		"take": takeErr, "spent": spentErr, "refund": l.Refund(gone, "a", quota.Decision{Allowed: true}), "post": l.Post(gone, a, time.Now()),
		"drain": l.Drain(gone, "a", "units", quota.Drain{Until: time.Now().Add(time.Hour)}), "reset": l.Reset(gone, "a"),
	} {
		if !errors.Is(err, quota.ErrUnavailable) || !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v, want error %v and error %v", name, err, quota.ErrUnavailable, context.Canceled)
		}
	}
	if d, err := l.Take(t.Context(), a); err != nil || d.Pools[0].Windows[0].Used != 1 {
		t.Errorf("afterwards: %+v %v, want Used 1", d, err)
	}
}
