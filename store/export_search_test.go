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

// SetIDRange sets how many ids the index is asked about at once, and after how long no more are.
func SetIDRange(t testing.TB, ids int64, d time.Duration) {
	beforeIDs, beforeBudget := idRange, timeBudget
	idRange, timeBudget = ids, d
	t.Cleanup(func() { idRange, timeBudget = beforeIDs, beforeBudget })
}

// CandidatesIn is the query that finds the candidates in a region, with six arguments before the region.
func CandidatesIn(region ingest.Region) string {
	where, _ := Query{Region: region}.filters(make([]any, 6))
	return readCandidates + where
}
