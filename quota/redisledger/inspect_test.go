package redisledger_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/trendvidstream/ingest/internal/faulty"
	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/redisledger"
)

func inspect(t *testing.T, url string) redisledger.Facts {
	t.Helper()
	f, err := openLedger(t, url, redisledger.Options{Timeout: patient}).Inspect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestInspectDescribesTheServer(t *testing.T) {
	s := redisServer(t, "--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru", "--appendfsync", "always")
	f := inspect(t, s.url())
	want := redisledger.Facts{
		Server: "redis", Version: f.Version, Role: "master",
		ClockAhead: f.ClockAhead, RoundTrip: f.RoundTrip,
		MaxMemory: 100 << 20, MaxMemoryPolicy: "allkeys-lru", AppendOnly: "no", AppendFsync: "always", LacksKnown: true,
	}
	if fmt.Sprintf("%+v", f) != fmt.Sprintf("%+v", want) {
		t.Errorf("\n%+v, want\n%+v", f, want)
	}
	if !strings.Contains(f.Version, ".") || f.RoundTrip <= 0 || f.ClockAhead.Abs() > 10*time.Second {
		t.Errorf("%+v, want a version, a round trip and a clock within 10 s", f)
	}
	if n := s.client.DBSize(t.Context()).Val(); n != 0 {
		t.Errorf("%d keys were written, want 0", n)
	}
}

func TestInspectOfAReplica(t *testing.T) {
	master := redisServer(t)
	replica := redisServer(t, "--replicaof", fmt.Sprintf("127.0.0.1 %d", master.port))
	await(t, func(ctx context.Context) error {
		if !strings.Contains(replica.client.Info(ctx, "replication").Val(), "master_link_status:up") {
			return errors.New("no replica yet")
		}
		return nil
	})
	if f := inspect(t, replica.url()); f.Role != "replica" || len(f.Lacks) > 0 {
		t.Errorf("%+v, want a replica that lacks nothing", f)
	}
}

// Managed servers forbid CONFIG, some INFO and ACL too: all readable facts are there, and missing rights show in use.
func TestInspectWorksWithFewRights(t *testing.T) {
	s := redisServer(t, "--maxmemory", "100mb", "--appendonly", "yes")
	open := func(user string, rules ...string) redisledger.Facts {
		t.Helper()
		aclUser(t, s, user, append(rights(t), rules...))
		return inspect(t, strings.Replace(s.url(), "://", "://"+user+":pw@", 1))
	}
	f := open("no-config")
	if f.MaxMemory != 100<<20 || f.MaxMemoryPolicy != "noeviction" || f.AppendOnly != "yes" ||
		f.AppendFsync != "" || !f.LacksKnown || len(f.Lacks) > 0 {
		t.Errorf("%+v, want 100 MB, noeviction, appendonly yes, and nothing lacking", f)
	}
	f = open("nothing", "-info")
	if f.MaxMemory != -1 || f.Version != "" || f.RoundTrip == 0 || !f.LacksKnown || !slices.Equal(f.Lacks, []string{"info"}) {
		t.Errorf("%+v, want it to lack info", f)
	}
	for _, right := range rights(t) {
		lacks, isRight := strings.CutPrefix(right, "+")
		if !isRight {
			continue
		}
		f := open(strings.ReplaceAll(lacks, "|", "-"), "-"+lacks)
		if !slices.Equal(f.Lacks, []string{lacks}) {
			t.Errorf("%s: %+v, want it to lack this", lacks, f)
		}
	}
	if n := s.client.DBSize(t.Context()).Val(); n != 0 {
		t.Errorf("%d keys are left, want 0", n)
	}
}

func TestInspectFollowsSentinelAndCluster(t *testing.T) {
	master := redisServer(t)
	port := faulty.FreePort(t)
	start(t, "redis-sentinel", port, fmt.Sprintf("sentinel monitor mymaster 127.0.0.1 %d 1", master.port))
	await(t, func(ctx context.Context) error {
		_, err := openLedger(t, fmt.Sprintf("redis+sentinel://127.0.0.1:%d?master_name=mymaster", port), redisledger.Options{}).Inspect(ctx)
		return err
	})
	f := inspect(t, fmt.Sprintf("redis+sentinel://127.0.0.1:%d?master_name=mymaster", port))
	if f.Role != "master" {
		t.Errorf("%+v, want \"master\"", f)
	}

	node := redisServer(t, "--cluster-enabled", "yes")
	node.client.ClusterAddSlotsRange(t.Context(), 0, 16383)
	await(t, func(ctx context.Context) error { return node.client.Set(ctx, "k", "", 0).Err() })
	f = inspect(t, strings.Replace(node.url(), "redis:", "redis+cluster:", 1))
	if f.Role != "master" || !f.LacksKnown {
		t.Errorf("%+v, want a master", f)
	}
}

func TestInspectWithoutAServerIsAnError(t *testing.T) {
	l := openLedger(t, fmt.Sprintf("redis://127.0.0.1:%d", faulty.FreePort(t)), redisledger.Options{})
	if f, err := l.Inspect(t.Context()); !errors.Is(err, quota.ErrUnavailable) {
		t.Errorf("%+v, %v, want error %v", f, err, quota.ErrUnavailable)
	}
}
