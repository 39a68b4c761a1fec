//go:build unix

package redisledger_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/trendvidstream/ingest/internal/faulty"
	"github.com/trendvidstream/ingest/quota/quotatest"
	"github.com/trendvidstream/ingest/quota/quotatest/memremote"
	"github.com/trendvidstream/ingest/quota/redisledger"
	"github.com/trendvidstream/ingest/quota/sharedledger"
)

// TestSoakStorms lets real servers be emptied, go back to an older copy on disk, be rolled back in place, and be
// followed by a replica that lags, with hosts that were idle since the copy, looks, posts, refunds and drains between:
// 500 storms where SOAK is set, a few otherwise. All of them take some ten minutes:
//
//	SOAK=1 go test -count=1 -timeout 2h ./quota/redisledger -run '^TestSoakStorms$'
func TestSoakStorms(t *testing.T) {
	seeds := uint64(4)
	if os.Getenv("SOAK") != "" {
		seeds = 500
	}
	storms(t, seeds)
}

func TestLongStorms(t *testing.T) { storms(t, 15) }

func storms(t *testing.T, seeds uint64) {
	t.Helper()
	first := uint64(time.Now().UnixNano() % 1_000_000)
	t.Logf("seeds %d to %d", first, first+seeds-1)
	for n := range seeds {
		t.Run(fmt.Sprint("seed ", first+n), func(t *testing.T) {
			t.Parallel()
			quotatest.Storm(t, quotatest.StormBackend{Remote: losing, Idle: true, Journal: func(testing.TB) func() sharedledger.Journal {
				j := &memremote.Journal{}
				return func() sharedledger.Journal { return j }
			}}, first+n)
		})
	}
}

// Every copy of a Redis in docs/hosts.md comes back after each of the hosts has spent; make test plays one case of each copy.
func TestFaultRestoredCopies(t *testing.T) { restoredCopies(t, 1) }

func TestLongFaultRestoredCopies(t *testing.T) { restoredCopies(t, 5) }

func restoredCopies(t *testing.T, each int) {
	t.Helper()
	docs, err := os.ReadFile("../../docs/hosts.md")
	if err != nil {
		t.Fatal(err)
	}
	journal := func(testing.TB) func() sharedledger.Journal {
		j := &memremote.Journal{}
		return func() sharedledger.Journal { return j }
	}
	rows := quotatest.Restores(t, quotatest.StormBackend{Remote: losing, Journal: journal}, each)
	rows = append(rows, quotatest.Restores(t, quotatest.StormBackend{Remote: cutShort, Journal: journal}, each)...)
	for _, r := range rows {
		if t.Log(r); r.Sent != r.Limit || r.Counted != r.Limit {
			t.Errorf("docs/hosts.md promises %d units sent and counted: %s", r.Limit, r)
		}
		if !strings.Contains(string(docs), r.Copy) {
			t.Errorf("docs/hosts.md does not name the copy: %s", r)
		}
	}
}

// cutShort is a Redis whose AOF loses its end.
func cutShort(t testing.TB, clock *quotatest.Clock) (func() sharedledger.Remote, []quotatest.Loss) {
	t.Helper()
	s := faulty.Redis(t, "--appendonly", "yes", "--appendfsync", "always")
	clock.Watch(func(now time.Time) { s.Must("SET", "clock", fmt.Sprint(now.UnixMicro())) })
	return func() sharedledger.Remote { return openAt(t, s.Addr()) }, []quotatest.Loss{{Name: "the AOF is cut short", Prepare: func() func() {
		files, _ := filepath.Glob(filepath.Join(s.Dir, "appendonlydir", "*.incr.aof"))
		if len(files) != 1 {
			t.Fatal(files)
		}
		end, err := os.Stat(files[0])
		if err != nil {
			t.Fatal(err)
		}
		return func() {
			s.Kill()
			if err := os.Truncate(files[0], end.Size()); err != nil {
				t.Fatal(err)
			}
			s.Restart()
		}
	}}}
}

func openAt(t testing.TB, addr string) sharedledger.Remote {
	t.Helper()
	l, err := redisledger.OpenWithClock("redis://"+addr, redisledger.Options{Timeout: patient}, "clock")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// restored saves the keys of accounts, and later puts them back in place of the keys that are there then.
func restored(t testing.TB, addr func() string) (strike func()) {
	t.Helper()
	ctx := context.Background()
	with := func(do func(c *redis.Client, keys []string)) {
		c := redis.NewClient(&redis.Options{Addr: addr(), Protocol: 2})
		defer func() { _ = c.Close() }()
		keys, err := c.Keys(ctx, "ingest:*").Result()
		if err != nil {
			t.Fatal(err)
		}
		do(c, keys)
	}
	kept := map[string]string{}
	with(func(c *redis.Client, keys []string) {
		for _, k := range keys {
			kept[k] = c.Dump(ctx, k).Val()
		}
	})
	return func() {
		with(func(c *redis.Client, keys []string) {
			c.Del(ctx, keys...)
			for k, dump := range kept {
				if err := c.Restore(ctx, k, 0, dump).Err(); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// losing is a Redis behind a proxy, which leads to the present master.
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
	return func() sharedledger.Remote { return openAt(t, proxy.Addr()) }, []quotatest.Loss{
		{Name: "older keys are restored", Prepare: func() func() { return restored(t, func() string { return master.Addr() }) }},
		{Name: "it is emptied", Prepare: func() func() { return func() { master.Must("FLUSHALL") } }},
		{Name: "an older dump is read at the start", Prepare: func() func() {
			master.Await("OK", "SAVE") // a copy for a replica may be under way
			return func() { master.Kill(); master.Restart() }
		}},
		{Name: "it takes the data of an older copy in place", Prepare: func() func() {
			older := copied()
			return func() { follow(master, older); older.Kill() }
		}},
		{Name: "a replica that lags is promoted", Prepare: func() func() {
			replica := copied()
			return func() {
				proxy.Lead(replica.Addr())
				master.Kill()
				master = replica
			}
		}},
	}
}
