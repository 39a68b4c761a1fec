package redisledger_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/quotatest/memremote"
	"github.com/trendvidstream/ingest/quota/redisledger"
	"github.com/trendvidstream/ingest/quota/sharedledger"
)

// restart ends the server, in order or not, and starts it on the same files.
func (s *server) restart(t *testing.T, kill bool, settings ...string) {
	t.Helper()
	dir := s.client.ConfigGet(t.Context(), "dir").Val()["dir"]
	end := os.Interrupt // on which it shuts down in order
	if kill {
		end = os.Kill
	}
	if err := s.process.Signal(end); err != nil {
		t.Fatal(err)
	}
	await(t, func(ctx context.Context) error {
		if s.client.Ping(ctx).Err() == nil {
			return errors.New("still there")
		}
		return nil
	})
	s.process = start(t, "redis-server", s.port, append(settings, "--dir", dir)...)
	await(t, func(ctx context.Context) error { return s.client.Ping(ctx).Err() })
}

// twoHosts are two data directories that share the server; each has taken, and seen the other's takes.
func twoHosts(t *testing.T, s *server) (hosts [2]*sharedledger.Ledger) {
	t.Helper()
	for i := range hosts {
		tariff := &quota.Tariff{Zone: time.UTC, Grace: 30 * time.Second, Failure: quota.Failure{SyncWait: time.Hour}, Pools: []quota.Pool{{Name: "units"}}}
		l, err := sharedledger.Open(tariff, openLedger(t, s.url(), redisledger.Options{Timeout: patient}), &memremote.Journal{}, len(hosts))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = l.Close() })
		hosts[i] = l
	}
	for i := range int64(4) {
		wantUsed(t, hosts[i%2], 1, i+1)
	}
	return hosts
}

// wantUsed takes an amount, and wants this use afterwards.
func wantUsed(t *testing.T, l *sharedledger.Ledger, amount, want int64) {
	t.Helper()
	d, err := l.Take(t.Context(), benchAsk("default", amount, 1000, "units"))
	if err != nil || !d.Allowed || d.Pools[0].Windows[0].Used != want {
		t.Fatalf("%d used, allowed %t, %v; want %d", used0(d), d.Allowed, err, want)
	}
}

func used0(d quota.Decision) int64 {
	if len(d.Pools) == 0 {
		return -1
	}
	return d.Pools[0].Windows[0].Used
}

// TestTwoHostsGoOnAtOnceAfterARestartWithAllData: neither waits for the other, however the data were kept.
func TestTwoHostsGoOnAtOnceAfterARestartWithAllData(t *testing.T) {
	for name, kept := range map[string]struct {
		settings []string
		kill     bool
	}{
		"an AOF":                  {[]string{"--save", "", "--appendonly", "yes"}, false},
		"an AOF, after a kill":    {[]string{"--save", "", "--appendonly", "yes", "--appendfsync", "always"}, true},
		"a dump made at shutdown": {[]string{"--save", "3600 1", "--appendonly", "no"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := redisServer(t, kept.settings...)
			hosts := twoHosts(t, s)
			for round := range int64(2) {
				s.restart(t, kept.kill, kept.settings...)
				wantUsed(t, hosts[0], 1, 5+2*round)
				wantUsed(t, hosts[1], 1, 6+2*round)
			}
		})
	}
}

// TestARestartWithOlderDataIsNoticedByEveryHostThatSpentSince: the other host goes on until then, and everything is counted
// again.
func TestARestartWithOlderDataIsNoticedByEveryHostThatSpentSince(t *testing.T) {
	settings := []string{"--save", "", "--appendonly", "no"}
	s := redisServer(t, settings...)
	hosts := twoHosts(t, s)
	if err := s.client.Save(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	wantUsed(t, hosts[1], 500, 504)
	s.restart(t, true, settings...)
	wantUsed(t, hosts[0], 1, 5)
	if _, err := hosts[1].Take(t.Context(), benchAsk("default", 1, 1000, "units")); !errors.Is(err, quota.ErrUnavailable) ||
		!strings.Contains(fmt.Sprint(err), "1 of 2 have") {
		t.Errorf("the host that spent since: %v, want error %v and \"1 of 2 have\" in it", err, quota.ErrUnavailable)
	}
	wantUsed(t, hosts[0], 1, 506)
	wantUsed(t, hosts[1], 1, 507)
}

// TestARestartEndsWithResume: until then every caller gets the error, and nothing is charged.
func TestARestartEndsWithResume(t *testing.T) {
	settings := []string{"--save", "", "--appendonly", "yes"}
	s := redisServer(t, settings...)
	l := openLedger(t, s.url(), redisledger.Options{Timeout: patient})
	shared(t, l, "a", 5)
	if _, err := once(l, benchAsk("a", 1, 100, "units"), 5, "w", 1); err != nil {
		t.Fatal(err)
	}
	s.restart(t, false, settings...)
	before := dump(t, s)
	for range 2 {
		if state, err := l.State(t.Context(), "a", nil); !errors.Is(err, sharedledger.ErrRestarted) || state.Generation != 5 {
			t.Errorf("state: %+v, %v, want error %v and 5", state, err, sharedledger.ErrRestarted)
		}
		if _, err := once(l, benchAsk("a", 1, 100, "units"), 5, "w", 2); !errors.Is(err, sharedledger.ErrRestarted) {
			t.Errorf("take: %v, want error %v", err, sharedledger.ErrRestarted)
		}
		if err := l.Resume(t.Context(), "a", 4); !errors.As(err, new(*sharedledger.GenerationError)) {
			t.Errorf("resumed in another generation: %v", err)
		}
	}
	if after := dump(t, s); after != before {
		t.Errorf("it changed from\n%q to\n%q", before, after)
	}
	for range 2 { // the second is of a host that came too late
		if err := l.Resume(t.Context(), "a", 5); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := once(l, benchAsk("a", 1, 100, "units"), 5, "w", 2); err != nil {
		t.Error(err)
	}
	s.restart(t, false, settings...)
	s.client.LPop(t.Context(), "ingest:{a}:units")
	if err := l.Resume(t.Context(), "a", 5); !errors.Is(err, sharedledger.ErrLost) || errors.Is(err, sharedledger.ErrRestarted) {
		t.Errorf("of a log that is too short: %v", err)
	}
}
