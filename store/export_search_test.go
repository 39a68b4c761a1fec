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

// SetFewRead sets of how many matches the videos are read at once.
func SetFewRead(t testing.TB, n int) {
	before := fewRead
	fewRead = n
	t.Cleanup(func() { fewRead = before })
}

// SetMaxTallied sets how many matches are counted.
func SetMaxTallied(t testing.TB, n int) {
	before := maxTallied
	maxTallied = n
	t.Cleanup(func() { maxTallied = before })
}

// SetKept sets how many videos a connection keeps.
func SetKept(t testing.TB, n int) {
	before := keptVideos
	keptVideos = n
	t.Cleanup(func() { keptVideos = before })
}
