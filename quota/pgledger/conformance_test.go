//go:build unix

package pgledger_test

import (
	"slices"
	"testing"
	"time"

	"github.com/trendvidstream/ingest/internal/faulty"
	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/quotatest"
	"github.com/trendvidstream/ingest/quota/sharedledger"
)

func TestConformance(t *testing.T) { quotatest.Run(t, backend(t, server(t).Addr())) }

// TestLongConformsFarAway runs the suite through a proxy that makes each round trip take 200 ms.
func TestLongConformsFarAway(t *testing.T) {
	quotatest.RunFar(t, backend(t, faulty.Far(t, server(t).Addr(), quotatest.FarAway*time.Millisecond)))
}

// Random steps of another seed each time: see quotatest.Differential.
func TestDifferential(t *testing.T) { quotatest.Differential(t, backend(t, server(t).Addr()), 400) }

func TestSoakDifferential(t *testing.T) { quotatest.SoakDifferential(t, backend(t, server(t).Addr())) }

func backend(t *testing.T, addr string) quotatest.Backend {
	t.Helper()
	d := server(t)
	return quotatest.Backend{
		Name: "pgledger",
		Open: func(t testing.TB, clock *quotatest.Clock) quotatest.Store {
			s := storeAt(t, d, addr, clock)
			s.Evict = nil
			return s
		},
		Without: map[quotatest.Capability]string{
			quotatest.Evict:  "alone it cannot notice: see TestRemoteConforms",
			quotatest.InFile: "it is in a server",
		},
		Steps: 300, Keys: 200, Entries: 300, Many: 10_000, // the long tests take more
	}
}

func TestRemoteConforms(t *testing.T) { quotatest.RunRemote(t, remote(t, server(t).Addr())) }

func remote(t *testing.T, addr string) quotatest.Backend {
	t.Helper()
	d := server(t)
	return quotatest.Backend{Name: "pgledger", Open: func(t testing.TB, clock *quotatest.Clock) quotatest.Store {
		return storeAt(t, d, addr, clock)
	}}
}

// A pooler in transaction mode gives every transaction another session.
func TestRemoteConformsThroughAPooler(t *testing.T) {
	b := remote(t, faulty.PgBouncer(t, server(t), 8).Addr())
	for _, c := range firstOfEach(quotatest.RemoteCases(), func(c quotatest.Case) string { return c.ID }) {
		t.Run(c.String(), func(t *testing.T) { c.Check(t, b) })
	}
}

func TestLongRemoteConformsThroughAPooler(t *testing.T) {
	quotatest.RunRemote(t, remote(t, faulty.PgBouncer(t, server(t), 8).Addr()))
}

// firstOfEach returns the first case of each promise.
func firstOfEach[C any](cases []C, promise func(C) string) []C {
	seen := map[string]bool{}
	return slices.DeleteFunc(cases, func(c C) bool {
		had := seen[promise(c)]
		seen[promise(c)] = true
		return had
	})
}

// TestBoundary prints its part of make boundary.
func TestBoundary(t *testing.T) {
	d := server(t)
	got := quotatest.Boundary(t, func(t testing.TB, clock *quotatest.Clock) quota.Ledger { return store(t, d, clock).Ledger })
	t.Logf("%-13s %3d admitted within %v, limit %d", "pgledger:", got, quotatest.BoundaryWindow, quotatest.BoundaryLimit)
	if got != quotatest.BoundaryLimit {
		t.Errorf("%d admitted, want %d", got, quotatest.BoundaryLimit)
	}
}

// Several data directories share a PostgreSQL that is emptied again and again.
func TestSharedDirectories(t *testing.T) {
	b := directories(t)
	for _, c := range firstOfEach(quotatest.SharedCases(), func(c quotatest.SharedCase) string { return c.ID }) {
		t.Run(c.String(), func(t *testing.T) { c.Check(t, b) })
	}
}

func TestLongSharedDirectories(t *testing.T) { quotatest.RunShared(t, directories(t)) }

func directories(t *testing.T) quotatest.SharedBackend {
	t.Helper()
	d := server(t)
	return quotatest.SharedBackend{
		Remote: func(t testing.TB, clock *quotatest.Clock) (func() sharedledger.Remote, func()) {
			s := store(t, d, clock)
			return func() sharedledger.Remote { return s.Another(t).(sharedledger.Remote) }, func() { s.Evict(t) }
		},
		Journal: journal,
	}
}
