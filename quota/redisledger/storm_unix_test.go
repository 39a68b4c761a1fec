//go:build unix

package redisledger_test

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/trendvidstream/ingest/internal/faulty"
	"github.com/trendvidstream/ingest/quota/quotatest"
	"github.com/trendvidstream/ingest/quota/quotatest/memremote"
	"github.com/trendvidstream/ingest/quota/redisledger"
	"github.com/trendvidstream/ingest/quota/sharedledger"
)

// TestSoakStorms lets real servers be emptied, go back to an older copy on disk, be rolled back in place, and be
// followed by a replica that lags: 200 storms where SOAK is set, a few otherwise.
func TestSoakStorms(t *testing.T) {
	seeds := uint64(4)
	if os.Getenv("SOAK") != "" {
		seeds = 200
	}
	first := uint64(time.Now().UnixNano() % 1_000_000)
	t.Logf("seeds %d to %d", first, first+seeds-1)
	for n := range seeds {
		t.Run(fmt.Sprint("seed ", first+n), func(t *testing.T) {
			t.Parallel()
			quotatest.Storm(t, quotatest.StormBackend{Remote: losing, Journal: func(testing.TB) func() sharedledger.Journal {
				j := &memremote.Journal{}
				return func() sharedledger.Journal { return j }
			}}, first+n)
		})
	}
}

// losing is a Redis behind a proxy, which leads to whoever is the master.
func losing(t testing.TB, clock *quotatest.Clock) (func() sharedledger.Remote, []quotatest.Loss) {
	t.Helper()
	master := faulty.Redis(t)
	proxy, err := faulty.NewProxy(master.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(proxy.Close)
	tell := func(now time.Time) { master.Must("SET", "clock", fmt.Sprint(now.UnixMicro())) }
	clock.Watch(tell)
	follow := func(follower, leader *faulty.Server) {
		follower.Must("REPLICAOF", "127.0.0.1", fmt.Sprint(leader.Port))
		follower.Await("master_link_status:up", "INFO", "replication")
		follower.Await(leader.Must("DBSIZE"), "DBSIZE")
		follower.Must("REPLICAOF", "NO", "ONE")
	}
	copied := func() *faulty.Server {
		older := faulty.Redis(t)
		follow(older, master)
		return older
	}
	open := func() sharedledger.Remote {
		l, err := redisledger.OpenWithClock("redis://"+proxy.Addr(), redisledger.Options{Timeout: patient}, "clock")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = l.Close() })
		return l
	}
	return open, []quotatest.Loss{
		{Name: "EMPTIED", Prepare: func() func() { return func() { master.Must("FLUSHALL") } }},
		{Name: "AN OLDER COPY IS BACK", Prepare: func() func() {
			master.Await("OK", "SAVE") // a copy for a replica may be under way
			return func() { master.Kill(); master.Restart() }
		}},
		{Name: "ROLLED BACK IN PLACE", Prepare: func() func() {
			older := copied()
			return func() { follow(master, older); older.Kill() }
		}},
		{Name: "A REPLICA THAT LAGS IS PROMOTED", Prepare: func() func() {
			replica := copied()
			return func() {
				proxy.Lead(replica.Addr())
				master.Kill()
				master = replica
			}
		}},
	}
}
