package store

import "testing"

// SetMaxScored sets how many matches are scored.
func SetMaxScored(t testing.TB, n int) {
	before := maxScored
	maxScored = n
	t.Cleanup(func() { maxScored = before })
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
