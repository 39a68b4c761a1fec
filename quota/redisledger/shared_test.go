package redisledger_test

import (
	"testing"

	"github.com/trendvidstream/ingest/quota/quotatest"
	"github.com/trendvidstream/ingest/quota/quotatest/memremote"
	"github.com/trendvidstream/ingest/quota/sharedledger"
)

// Several data directories share a Redis that is emptied again and again.
func TestSharedDirectories(t *testing.T) {
	s := redisServer(t)
	quotatest.RunShared(t, quotatest.SharedBackend{
		Remote: func(t testing.TB, clock *quotatest.Clock) (func() sharedledger.Remote, func()) {
			store := s.store(t, clock)
			return func() sharedledger.Remote { return store.Another(t).(sharedledger.Remote) }, func() { store.Evict(t) }
		},
		Journal: func(testing.TB) func() sharedledger.Journal {
			j := &memremote.Journal{}
			return func() sharedledger.Journal { return j }
		},
	})
}
