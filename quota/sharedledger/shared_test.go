package sharedledger_test

import (
	"testing"

	"github.com/trendvidstream/ingest/quota/quotatest"
	"github.com/trendvidstream/ingest/quota/quotatest/memremote"
	"github.com/trendvidstream/ingest/quota/sharedledger"
)

// Several data directories over a remote in memory.
func TestSharedDirectories(t *testing.T) {
	quotatest.RunShared(t, quotatest.SharedBackend{
		Remote: func(_ testing.TB, clock *quotatest.Clock) (func() sharedledger.Remote, func()) {
			memory := &memremote.Remote{Now: clock.Now}
			return func() sharedledger.Remote { return memory }, func() { memory.Load(memremote.Image{}) }
		},
		Journal: memoryJournal,
	})
}

func memoryJournal(testing.TB) func() sharedledger.Journal {
	j := &memremote.Journal{}
	return func() sharedledger.Journal { return j }
}
