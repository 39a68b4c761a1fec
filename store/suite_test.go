package store_test

import (
	"testing"
	"time"

	"github.com/trendvidstream/ingest/store"
	"github.com/trendvidstream/ingest/store/storetest"
)

func TestStore(t *testing.T) { storetest.Run(t, openAt, 1) }

func TestSearchQuality(t *testing.T) {
	storetest.SearchQuality(t, openAt, storetest.Sample{Days: 30, Each: 1})
}

func TestLongSearchQuality(t *testing.T) {
	storetest.SearchQuality(t, openAt, storetest.Sample{Days: 81, Each: 6})
}

// openAt is open for the suite.
func openAt(t testing.TB, dir string, now func() time.Time) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), dir, store.Options{Upstream: upstream, Now: now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}
