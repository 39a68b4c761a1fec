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
