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

// SetKept sets how many videos and hits a connection keeps.
func SetKept(t testing.TB, videos, hits int) {
	beforeVideos, beforeHits := keptVideos, keptHits
	keptVideos, keptHits = videos, hits
	t.Cleanup(func() { keptVideos, keptHits = beforeVideos, beforeHits })
}
