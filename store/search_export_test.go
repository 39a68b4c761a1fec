package store

import (
	"testing"
	"time"
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
