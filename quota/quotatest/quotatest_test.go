package quotatest_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/quotatest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The suite's own yardstick is held to the suite.
func TestModelConforms(t *testing.T) {
	quotatest.Run(t, quotatest.Backend{
		Name: "model",
		Open: func(_ testing.TB, clock *quotatest.Clock) quotatest.Store {
			return quotatest.Store{Ledger: &quotatest.Model{Now: clock.Now}}
		},
		Without: map[quotatest.Capability]string{
			quotatest.Another:   "it lives in one value",
			quotatest.Address:   "it lives in one process",
			quotatest.Counts:    "it keeps everything indefinitely",
			quotatest.LoseReply: "no reply is ever on its way",
			quotatest.Evict:     "nobody else can reach its state",
			quotatest.OwnClock:  "its clock is its caller's",
			quotatest.InFile:    "it is in memory",
		},
		Steps:   1000,
		Entries: 500,
		Many:    50, // it counts its whole log, as L9 finds
	})
}

func TestBoundaryCountsTheTakesThatAFixedWindowAdmits(t *testing.T) {
	got := quotatest.Boundary(t, func(_ testing.TB, clock *quotatest.Clock) quota.Ledger {
		return &quotatest.FixedWindow{Model: quotatest.Model{Now: clock.Now}}
	})
	if got != 2*quotatest.BoundaryLimit {
		t.Errorf("a fixed window admitted %d, want twice its limit of %d", got, quotatest.BoundaryLimit)
	}
}
