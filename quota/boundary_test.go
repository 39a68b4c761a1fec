package quota_test

import (
	"path/filepath"
	"testing"

	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/memledger"
	"github.com/trendvidstream/ingest/quota/quotatest"
	"github.com/trendvidstream/ingest/quota/sqliteledger"
)

// Twice the limit arrives around the edge of a window: a counter that is reset lets all of it in.
// `make boundary` shows this output; redisledger reports the same of itself.
func TestBoundary(t *testing.T) {
	for _, c := range []struct {
		name string
		open func(t testing.TB, clock *quotatest.Clock) quota.Ledger
		want int
	}{
		{"fixed window", func(_ testing.TB, clock *quotatest.Clock) quota.Ledger {
			return &quotatest.FixedWindow{Model: quotatest.Model{Now: clock.Now}}
		}, 2 * quotatest.BoundaryLimit},
		{"memledger", func(_ testing.TB, clock *quotatest.Clock) quota.Ledger {
			return &memledger.Ledger{Now: clock.Now}
		}, quotatest.BoundaryLimit},
		{"sqliteledger", func(t testing.TB, clock *quotatest.Clock) quota.Ledger {
			l := openFile(t, filepath.Join(t.TempDir(), "quota.db"))
			l.Now = clock.Now
			return l
		}, quotatest.BoundaryLimit},
	} {
		got := quotatest.Boundary(t, c.open)
		t.Logf("%-13s %3d admitted within %v, limit %d", c.name+":", got, quotatest.BoundaryWindow, quotatest.BoundaryLimit)
		if got != c.want {
			t.Errorf("%s: %d admitted, want %d", c.name, got, c.want)
		}
	}
}

func openFile(t testing.TB, path string) *sqliteledger.Ledger {
	t.Helper()
	l, err := sqliteledger.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}
