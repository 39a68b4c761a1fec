package store_test

import (
	"sync"
	"testing"

	"github.com/trendvidstream/ingest/store"
)

// TestTheFingerprintChangesWithEveryCommit: of this process through the same Store, and of others.
func TestTheFingerprintChangesWithEveryCommit(t *testing.T) {
	s, _ := newStore(t)
	seen := map[string]bool{}
	version := func(what string, other bool) {
		t.Helper()
		v, err := s.Fingerprint(t.Context())
		if err != nil || v == "" {
			t.Fatal(what, err)
		}
		if seen[v] == other {
			t.Errorf("%s: version %s, seen before: %v", what, v, seen[v])
		}
		seen[v] = true
	}
	version("at first", true)
	version("nothing was written", false)
	chart(t, s, "US", noon, page(titled("a", "Apfel")))
	version("a chart was saved", true)
	if _, err := s.Search(t.Context(), store.SearchQuery{Text: "apfel"}); err != nil {
		t.Fatal(err)
	}
	version("it was searched", false)
	if _, err := raw(t, s.Path()).Exec(`UPDATE video_latest SET views = 7`); err != nil {
		t.Fatal(err)
	}
	version("another connection wrote", true)
	var asking sync.WaitGroup
	for range 8 {
		asking.Go(func() {
			if _, err := s.Fingerprint(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	asking.Wait()
	version("nothing was written, and many asked", false)
}
