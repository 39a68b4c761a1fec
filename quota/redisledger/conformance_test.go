package redisledger_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/trendvidstream/ingest/internal/faulty"
	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/quotatest"
	"github.com/trendvidstream/ingest/quota/redisledger"
)

func TestConformance(t *testing.T) { quotatest.Run(t, backend(redisServer(t))) }

// A Valkey is used as a Redis is.
func TestConformanceOfValkey(t *testing.T) {
	path := os.Getenv("VALKEY_SERVER")
	if path == "" {
		var err error
		if path, err = exec.LookPath("valkey-server"); err != nil {
			t.Skipf("valkey: install valkey-server, or set VALKEY_SERVER: %v", err)
		}
	}
	t.Setenv("REDIS_SERVER", path)
	quotatest.Run(t, backend(redisServer(t)))
}

// TestLongConformsFarAway runs the suite through a proxy that makes each round trip take 200 ms.
func TestLongConformsFarAway(t *testing.T) {
	s := redisServer(t)
	far := *s
	if _, err := fmt.Sscanf(faulty.Far(t, fmt.Sprintf("127.0.0.1:%d", s.port), quotatest.FarAway*time.Millisecond), "127.0.0.1:%d", &far.port); err != nil {
		t.Fatal(err)
	}
	quotatest.RunFar(t, backend(&far))
}

// Random steps of another seed each time: see quotatest.Differential.
func TestDifferential(t *testing.T) { quotatest.Differential(t, backend(redisServer(t)), 3_000) }

func TestSoakDifferential(t *testing.T) { quotatest.SoakDifferential(t, backend(redisServer(t))) }

func backend(s *server) quotatest.Backend {
	return quotatest.Backend{
		Name: "redisledger",
		Open: func(t testing.TB, clock *quotatest.Clock) quotatest.Store {
			store := s.store(t, clock)
			store.Evict = nil
			return store
		},
		Without: map[quotatest.Capability]string{
			quotatest.Evict:  "alone it cannot notice: see TestRemoteConforms",
			quotatest.InFile: "it is in a server",
		},
		Steps: 2000, Keys: 2000, Entries: 2000, Many: 20_000, // the long tests take more
	}
}

func TestRemoteConforms(t *testing.T) {
	s := redisServer(t)
	quotatest.RunRemote(t, quotatest.Backend{Name: "redisledger", Open: s.store})
}

// TestBoundary prints its part of make boundary.
func TestBoundary(t *testing.T) {
	s := redisServer(t)
	got := quotatest.Boundary(t, func(t testing.TB, clock *quotatest.Clock) quota.Ledger { return s.store(t, clock).Ledger })
	t.Logf("%-13s %3d admitted within %v, limit %d", "redisledger:", got, quotatest.BoundaryWindow, quotatest.BoundaryLimit)
	if got != quotatest.BoundaryLimit {
		t.Errorf("%d admitted, want %d", got, quotatest.BoundaryLimit)
	}
}

var stores atomic.Int64

// store is a store for the suite: keys of its own on the server, read by a clock of its own.
func (s *server) store(t testing.TB, clock *quotatest.Clock) quotatest.Store {
	t.Helper()
	prefix := fmt.Sprintf("store-%d", stores.Add(1))
	clock.Watch(func(now time.Time) {
		if err := s.client.Set(context.Background(), prefix+"-clock", now.UnixMicro(), 0).Err(); err != nil {
			t.Error(err)
		}
	})
	proxy := faulty.Before(t, fmt.Sprintf("127.0.0.1:%d", s.port))
	another := func(t testing.TB) quota.Ledger {
		t.Helper()
		l, err := redisledger.OpenWithClock("redis://"+proxy.Addr(), redisledger.Options{Prefix: prefix, Timeout: patient}, prefix+"-clock")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = l.Close() })
		return l
	}
	return quotatest.Store{
		Ledger: another(t), Another: another, Address: s.url() + " " + prefix, OwnClock: true,
		LoseReply: func(testing.TB) { proxy.Lose(1, faulty.Closed) },
		Footprint: func(t testing.TB) quotatest.Footprint { return held(t, s.client, prefix, clock.Now()) },
		Evict: func(t testing.TB) {
			for _, k := range s.client.Keys(t.Context(), prefix+":*").Val() {
				s.client.Del(t.Context(), k)
			}
		},
		EvictPart: func(t testing.TB, account string, part quotatest.Part) {
			state, n := prefix+":{"+account+"}", int64(0)
			switch part {
			case quotatest.PartLog:
				n = s.client.Del(t.Context(), state+":units").Val()
			case quotatest.PartPool:
				n = s.client.HDel(t.Context(), state, "punits").Val()
			case quotatest.PartWriters:
				n = s.client.HDel(t.Context(), state, "oa").Val()
			}
			if n != 1 {
				t.Errorf("%d %ss of %s, want 1", n, part, account)
			}
		},
	}
}

// openWorker opens a store for another process, by the server's own clock.
func openWorker(ctx context.Context, address string) (quota.Ledger, error) {
	url, prefix, _ := strings.Cut(address, " ")
	return redisledger.Open(ctx, url, redisledger.Options{Prefix: prefix, Timeout: patient})
}

// held counts the store's keys that would be left if the server's clock stood at now too: the accounts whose expiry
// is ahead, which the server must know of, and their logs.
func held(t testing.TB, client *redis.Client, prefix string, now time.Time) quotatest.Footprint {
	t.Helper()
	ctx := context.Background()
	var h quotatest.Footprint
	keys := client.Scan(ctx, 0, prefix+":{*}", 1000).Iterator()
	for keys.Next(ctx) {
		state := keys.Val()
		if client.PTTL(ctx, state).Val() < 0 {
			t.Errorf("%s does not expire", state)
		}
		fields := client.HGetAll(ctx, state).Val()
		if seven(fields["m"][9:]) <= now.UnixMicro() {
			continue
		}
		h.Accounts++
		for field, value := range fields {
			if pool, ok := strings.CutPrefix(field, "p"); ok && seven(value[26:]) > now.UnixMicro() {
				h.Entries += int(client.LLen(ctx, state+":"+pool).Val())
			}
		}
	}
	return h
}

func seven(s string) int64 {
	var eight [8]byte
	copy(eight[1:], s[:7])
	return int64(binary.BigEndian.Uint64(eight[:]))
}
