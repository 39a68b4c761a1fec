package store

import (
	"testing"
	"time"

	"github.com/trendvidstream/ingest"
)

// SetMaxWords sets how many words a search asks for by name.
func SetMaxWords(t testing.TB, n int) {
	before := maxWords
	maxWords = n
	t.Cleanup(func() { maxWords = before })
}

// SetReach sets how many ids the index is asked about at once, and after how long no more are.
func SetReach(t testing.TB, ids int64, d time.Duration) {
	beforeIDs, beforePatience := reach, patience
	reach, patience = ids, d
	t.Cleanup(func() { reach, patience = beforeIDs, beforePatience })
}

// IndexedBeginnings are the lengths of the beginnings that the search takes the index to have.
func IndexedBeginnings() []int { return indexedBeginnings }

// CandidatesIn is the query that finds the candidates in a region, with six arguments before the region.
func CandidatesIn(region ingest.Region) string {
	where, _ := Query{Region: region}.filters(make([]any, 6))
	return readCandidates + where
}
