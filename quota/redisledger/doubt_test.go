//go:build unix

package redisledger_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/trendvidstream/ingest/internal/faulty"
	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/redisledger"
	"github.com/trendvidstream/ingest/quota/sharedledger"
)

// asks are the operations of a shared ledger, each as an error.
func asks(l *redisledger.Ledger, account string) map[string]error {
	ctx := context.Background()
	return map[string]error{
		"take": second(once(l, benchAsk(account, 1, 100, "units"), 1, "w", 2)),
		"sync": syncs(ctx, l, sharedledger.Batch{Account: account, Generation: 1, Horizon: quota.MinHorizon, Rows: rows(account, "r", 3, time.Now().Add(-time.Minute), 0),
			Snapshots: []sharedledger.UsageSnapshot{{Pool: "search", At: time.Now(), Windows: []sharedledger.WindowUsage{{Used: 5}}}}, Host: &sharedledger.Host{ID: "h"}}),
		"renew": second(l.Renew(ctx, sharedledger.Renewal{Account: account, Was: 1, Next: 2, Horizon: quota.MinHorizon})),
		"state": second(l.State(ctx, account, []string{"w"})),
	}
}

// prepared is an account whose first operation is written.
func prepared(t *testing.T, l *redisledger.Ledger, account string) {
	t.Helper()
	shared(t, l, account, 1)
	if _, err := once(l, benchAsk(account, 1, 100, "units", "search"), 1, "w", 1); err != nil {
		t.Fatal(err)
	}
}

func wantDoubt(t *testing.T, errs map[string]error, want bool, text string) {
	t.Helper()
	for what, err := range errs {
		if !errors.Is(err, quota.ErrUnavailable) || errors.Is(err, quota.ErrInDoubt) != want || !strings.Contains(err.Error(), text) {
			t.Errorf("%s: %v: in doubt %t, want %t with %q", what, err, errors.Is(err, quota.ErrInDoubt), want, text)
		}
	}
}

// A server that refuses has done nothing: of that there is no doubt.
func TestARefusedOperationIsNotInDoubt(t *testing.T) {
	for word, refuse := range map[string]func(t *testing.T, s *server){
		"OOM":        func(t *testing.T, s *server) { s.client.ConfigSet(t.Context(), "maxmemory", "1") },
		"NOREPLICAS": func(t *testing.T, s *server) { s.client.ConfigSet(t.Context(), "min-replicas-to-write", "1") },
		"READONLY": func(t *testing.T, s *server) {
			s.client.ReplicaOf(t.Context(), "127.0.0.1", fmt.Sprint(faulty.FreePort(t)))
		},
		"MISCONF": func(t *testing.T, s *server) {
			dir := s.client.ConfigGet(t.Context(), "dir").Val()["dir"]
			s.client.ConfigSet(t.Context(), "save", "3600 1")
			if err := os.RemoveAll(dir); err != nil {
				t.Fatal(err)
			}
			s.client.BgSave(t.Context())
			await(t, func(ctx context.Context) error {
				if info := s.client.Info(ctx, "persistence").Val(); !strings.Contains(info, "rdb_last_bgsave_status:err") {
					return errors.New("the snapshot has not failed yet")
				}
				return nil
			})
		},
		"BUSY": func(t *testing.T, s *server) {
			s.client.ConfigSet(t.Context(), "busy-reply-threshold", "1")
			go func() { _ = s.client.Eval(context.Background(), "while true do end", nil).Err() }()
			await(t, func(ctx context.Context) error {
				if err := s.client.Get(ctx, "k").Err(); err == nil || !strings.HasPrefix(err.Error(), "BUSY") {
					return fmt.Errorf("not yet: %w", err)
				}
				return nil
			})
			t.Cleanup(func() { s.client.ScriptKill(context.Background()) })
		},
		"NOAUTH": func(t *testing.T, s *server) { s.client.ConfigSet(t.Context(), "requirepass", "pw") },
		"NOPERM": func(t *testing.T, s *server) { s.client.Do(t.Context(), "ACL", "SETUSER", "default", "-evalsha") },
	} {
		t.Run(word, func(t *testing.T) {
			s := redisServer(t)
			l := openLedger(t, s.url(), redisledger.Options{Timeout: patient})
			prepared(t, l, "a")
			before := dump(t, s)
			refuse(t, s)
			if word == "NOAUTH" {
				l = openLedger(t, s.url(), redisledger.Options{Timeout: patient}) // who is in stays in
			}
			errs := asks(l, "a")
			if word == "NOAUTH" {
				word = "check user and password"
				// An unexpected longer reply makes the client hang up, and lose the rest of the connection's replies.
				_, err := openLedger(t, s.url(), redisledger.Options{Timeout: patient}).State(t.Context(), "a", []string{"w"})
				errs = map[string]error{"state": err}
			}
			wantDoubt(t, errs, false, word)
			if word == "BUSY" {
				s.client.ScriptKill(t.Context())
			}
			if s.client.Ping(t.Context()).Err() != nil {
				return // NOAUTH
			}
			if after := dump(t, s); after != before {
				t.Errorf("it changed from\n%q to\n%q", before, after)
			}
		})
	}
	t.Run("CLOCK", func(t *testing.T) {
		s := redisServer(t)
		l := openLedger(t, s.url(), redisledger.Options{Timeout: patient})
		prepared(t, l, "a")
		a := benchAsk("a", 1, 100, "units")
		a.Now = a.Now.Add(-2 * time.Minute)
		_, err := once(l, a, 1, "w", 2)
		wantDoubt(t, map[string]error{"take": err}, false, "clock")
	})
	t.Run("nobody there", func(t *testing.T) {
		l := openLedger(t, fmt.Sprintf("redis://127.0.0.1:%d", faulty.FreePort(t)), redisledger.Options{Timeout: patient})
		wantDoubt(t, asks(l, "a"), false, "refused")
	})
	t.Run("no such name", func(t *testing.T) {
		wantDoubt(t, asks(openLedger(t, "redis://nowhere.invalid", redisledger.Options{Timeout: patient}), "a"), false, "nowhere.invalid")
	})
}

// The outcome of a command that was sent and not answered is unknown.
func TestAnUnansweredOperationIsInDoubt(t *testing.T) {
	s := redisServer(t)
	l := openLedger(t, s.url(), redisledger.Options{Timeout: 200 * time.Millisecond})
	prepared(t, l, "a")
	if err := s.process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	errs := asks(l, "a")
	if err := s.process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	wantDoubt(t, errs, true, "the server does not answer within 200ms")

	listener, err := net.Listen("tcp", "127.0.0.1:0") // hangs up on everybody who speaks
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			_, _ = c.Read(make([]byte, 1))
			_ = c.Close()
		}
	}()
	defer func() { _ = listener.Close(); <-done }()
	wantDoubt(t, asks(openLedger(t, "redis://"+listener.Addr().String(), redisledger.Options{Timeout: patient}), "a"), true, "")
}

// A caller who had given up before has asked nothing.
func TestCallerWhoGaveUpBeforeIsNotInDoubt(t *testing.T) {
	s := redisServer(t)
	l := openLedger(t, s.url(), redisledger.Options{Timeout: patient})
	prepared(t, l, "a")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := l.TakeOnce(ctx, benchAsk("a", 1, 100, "units"), sharedledger.Operation{Generation: 1, Writer: "w", Number: 2, Nonce: 7, Written: 1})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want error %v", err, context.Canceled)
	}
	wantDoubt(t, map[string]error{"take": err}, false, "")
}

// A server that runs out of memory refuses a script or carries it out: never half of it.
func TestMemoryThatEndsInASyncLeavesNoHalf(t *testing.T) {
	s := redisServer(t)
	l := openLedger(t, s.url(), redisledger.Options{Timeout: patient})
	outcomes := map[bool]int{}
	for i := range 14 {
		account := fmt.Sprint("a", i)
		s.client.ConfigSet(t.Context(), "maxmemory", "0")
		s.client.FlushAll(t.Context())
		shared(t, l, account, 1)
		used := s.client.InfoMap(t.Context(), "memory").Item("Memory", "used_memory")
		var n int64
		_, _ = fmt.Sscan(used, &n)
		s.client.ConfigSet(t.Context(), "maxmemory", fmt.Sprint(n+int64(i)*120_000))
		before := dump(t, s)
		d := sharedledger.Batch{Account: account, Generation: 1, Horizon: quota.MinHorizon, Rows: rows(account, "r", 5000, time.Now().Add(-time.Hour), 0)}
		_, err := l.Sync(t.Context(), d)
		outcomes[err == nil]++
		s.client.ConfigSet(t.Context(), "maxmemory", "0")
		if err == nil {
			if used := take(t, l, benchAsk(account, 0, 10_000, "units")).Pools[0].Windows[0].Used; used != 5000 {
				t.Errorf("%d used, want 5000", used)
			}
			if state, err := l.State(t.Context(), account, []string{"r0", "r499"}); err != nil || len(state.Written) != 2 {
				t.Errorf("%+v, %v, want 2 Written", state, err)
			}
		} else {
			wantDoubt(t, map[string]error{"sync": err}, false, "OOM")
			if after := dump(t, s); after != before {
				t.Errorf("after a sync that ran out of memory: got %s, want %s", after, before)
			}
		}
	}
	t.Log(outcomes)
	if outcomes[true] == 0 || outcomes[false] == 0 {
		t.Errorf("%v: the memory never ended, or always", outcomes)
	}
}
