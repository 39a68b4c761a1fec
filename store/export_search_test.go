package store

import "testing"

// SetPoolSize sets how many matches are scored.
func SetPoolSize(t testing.TB, n int) {
	before := poolSize
	poolSize = n
	t.Cleanup(func() { poolSize = before })
}

// SetMaxMatches sets how many matches are ranked.
func SetMaxMatches(t testing.TB, n int) {
	before := maxMatches
	maxMatches = n
	t.Cleanup(func() { maxMatches = before })
}

// RewriteCharted rebuilds charted_blocks from the placements.
func RewriteCharted(t testing.TB, s *Store) {
	if err := s.tx(t.Context(), "test", func(tx *txn) error { return rewriteCharted(t.Context(), tx) }); err != nil {
		t.Fatal(err)
	}
}
