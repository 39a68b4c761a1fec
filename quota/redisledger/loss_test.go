package redisledger_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/redisledger"
	"github.com/trendvidstream/ingest/quota/sharedledger"
)

// wantLost wants that every way of asking says so, and changes nothing, and that one renewal ends it.
func wantLost(t *testing.T, s *server, l *redisledger.Ledger, account string, was sharedledger.Generation) {
	t.Helper()
	before := dump(t, s)
	for range 2 {
		if state, err := l.State(t.Context(), account, nil); !errors.Is(err, sharedledger.ErrLost) || state.Generation != was {
			t.Errorf("state: %+v, %v, want error %v and %v", state, err, sharedledger.ErrLost, was)
		}
		if _, err := once(l, benchAsk(account, 1, 100, "units"), was, "w", 9); !errors.Is(err, sharedledger.ErrLost) {
			t.Errorf("take: %v, want error %v", err, sharedledger.ErrLost)
		}
		if _, err := l.Sync(t.Context(), sharedledger.Batch{Account: account, Generation: was, Rows: rows(account, "x", 1, time.Now(), 0)}); !errors.Is(err, sharedledger.ErrLost) {
			t.Errorf("sync: %v, want error %v", err, sharedledger.ErrLost)
		}
	}
	if after := dump(t, s); after != before {
		t.Errorf("it changed from\n%q to\n%q", before, after)
	}
	for range 2 { // the second caller came too late
		if g, err := l.Renew(t.Context(), sharedledger.Renewal{Account: account, Was: was, Next: was + 1, Horizon: quota.MinHorizon}); err != nil || g != was+1 {
			t.Fatalf("renew: %d, %v", g, err)
		}
	}
	if state, err := l.State(t.Context(), account, nil); err != nil || state.Generation != was+1 || state.Born.IsZero() {
		t.Errorf("then: %+v, %v", state, err)
	}
	if _, err := once(l, benchAsk(account, 1, 100, "units"), was+1, "new", 1); err != nil {
		t.Errorf("then: %v", err)
	}
}

func TestFirstStartIsNoLoss(t *testing.T) {
	s := redisServer(t)
	for i := range 2 { // also where another account had its first start before
		l := openLedger(t, s.url(), redisledger.Options{Timeout: patient})
		account := fmt.Sprint("account-", i)
		if state, err := l.State(t.Context(), account, []string{"w"}); err != nil || state.Generation != 0 {
			t.Fatalf("%+v, %v, want Generation 0", state, err)
		}
		shared(t, l, account, 5)
		if state, err := l.State(t.Context(), account, nil); err != nil || state.Generation != 5 || !state.Born.IsZero() {
			t.Errorf("%+v, %v, want generation 5, of unknown birth", state, err)
		}
		for n := range int64(3) {
			if d, err := once(l, benchAsk(account, 1, 100, "units"), 5, "w", n+1); err != nil || d.Pools[0].Windows[0].Used != n+1 {
				t.Errorf("%+v, %v, want %d used", d, err, n+1)
			}
		}
	}
}

func TestPromotedReplicaIsALoss(t *testing.T) {
	master := redisServer(t, "--repl-diskless-sync-delay", "0")
	replica := redisServer(t, "--replicaof", fmt.Sprintf("127.0.0.1 %d", master.port))
	l := openLedger(t, master.url(), redisledger.Options{Timeout: patient})
	shared(t, l, "a", 5)
	if _, err := once(l, benchAsk("a", 1, 100, "units"), 5, "w", 1); err != nil {
		t.Fatal(err)
	}
	await(t, func(ctx context.Context) error {
		if n := replica.client.DBSize(ctx).Val(); n != 2 {
			return fmt.Errorf("%d keys, want 2", n)
		}
		return nil
	})
	replica.client.ReplicaOf(t.Context(), "no", "one")
	wantLost(t, replica, openLedger(t, replica.url(), redisledger.Options{Timeout: patient}), "a", 5)
}

// K3: a master that was made a replica of an older copy, and a master again, has kept its scripts and its run id.
// Who wrote nothing since the copy was made notices anyway.
func TestRollBackInPlaceIsALoss(t *testing.T) {
	s := redisServer(t, "--repl-diskless-sync-delay", "0")
	older := redisServer(t, "--repl-diskless-sync-delay", "0", "--replicaof", fmt.Sprintf("127.0.0.1 %d", s.port))
	await(t, func(ctx context.Context) error { // else attaching the first replica changes the replication id
		if info := older.client.Info(ctx, "replication").Val(); !strings.Contains(info, "master_link_status:up") {
			return errors.New(info)
		}
		return nil
	})
	l := openLedger(t, s.url(), redisledger.Options{Timeout: patient})
	shared(t, l, "a", 5)
	if _, err := once(l, benchAsk("a", 1, 100, "units"), 5, "idle", 1); err != nil {
		t.Fatal(err)
	}
	await(t, func(ctx context.Context) error {
		if n := older.client.LLen(ctx, "ingest:{a}:units").Val(); n != 1 {
			return fmt.Errorf("%d entries, want 1", n)
		}
		return nil
	})
	older.client.ReplicaOf(t.Context(), "no", "one")
	if _, err := once(l, benchAsk("a", 90, 100, "units"), 5, "busy", 1); err != nil {
		t.Fatal(err)
	}
	s.client.ReplicaOf(t.Context(), "127.0.0.1", fmt.Sprint(older.port))
	await(t, func(ctx context.Context) error {
		if info := s.client.Info(ctx, "replication").Val(); !strings.Contains(info, "master_link_status:up") {
			return errors.New(info)
		}
		return nil
	})
	s.client.ReplicaOf(t.Context(), "no", "one")
	if _, err := once(l, benchAsk("a", 1, 100, "units"), 5, "idle", 2); !errors.Is(err, sharedledger.ErrLost) {
		t.Errorf("who wrote nothing since: %v", err)
	}
	wantLost(t, s, l, "a", 5)
}

// Other hosts' operations in between do not hide the sign of a loss.
func TestOnlyARenewalEndsALoss(t *testing.T) {
	s := redisServer(t)
	l := openLedger(t, s.url(), redisledger.Options{Timeout: patient})
	for name, hide := range map[string]func(l *redisledger.Ledger){
		"nobody":             func(*redisledger.Ledger) {},
		"what a ledger does": func(l *redisledger.Ledger) { wantAll(t, everything(t.Context(), l, "a"), nil, "") },
		"another account's":  func(l *redisledger.Ledger) { shared(t, l, fmt.Sprint("other-", time.Now().UnixNano()), 8) },
		"another prefix'": func(*redisledger.Ledger) {
			shared(t, openLedger(t, s.url(), redisledger.Options{Prefix: fmt.Sprint(time.Now().UnixNano())}), "a", 8)
		},
		"a look at it": func(l *redisledger.Ledger) { _, _ = l.State(t.Context(), "a", []string{"w"}) },
		"a renewal of another": func(l *redisledger.Ledger) {
			_, _ = l.Renew(t.Context(), sharedledger.Renewal{Account: "a", Was: 3, Next: 4})
		},
		"a start that knows of none": func(l *redisledger.Ledger) {
			_, _ = l.Renew(t.Context(), sharedledger.Renewal{Account: "a", Next: 4, First: true})
		},
		"an inspection": func(l *redisledger.Ledger) { _, _ = l.Inspect(t.Context()) },
	} {
		t.Run(name, func(t *testing.T) {
			s.client.FlushAll(t.Context())
			shared(t, l, "a", 5)
			s.client.ScriptFlush(t.Context())
			hide(openLedger(t, s.url(), redisledger.Options{Timeout: patient}))
			wantLost(t, s, l, "a", 5)
		})
	}
}

// A log that is not as long as its state says is a loss, however it is come upon, and nothing changes.
// A log is not taken for empty because its state was made to say so.
func TestADeletedLogWithAForgedLengthIsALoss(t *testing.T) {
	s := redisServer(t)
	l := openLedger(t, s.url(), redisledger.Options{Timeout: patient})
	shared(t, l, "a", 5)
	if _, err := once(l, benchAsk("a", 90, 100, "units"), 5, "w", 1); err != nil {
		t.Fatal(err)
	}
	columns := s.client.HGet(t.Context(), "ingest:{a}", "punits").Val()
	const number, newest, first = 7, 13, 20 // where these columns begin: POOL in lua/common.lua
	s.client.HSet(t.Context(), "ingest:{a}", "punits", columns[:first]+columns[number:newest]+columns[first+newest-number:])
	s.client.Del(t.Context(), "ingest:{a}:units")
	if _, err := once(l, benchAsk("a", 90, 100, "units"), 5, "w", 2); !errors.Is(err, sharedledger.ErrLost) {
		t.Errorf("%v, want error %v", err, sharedledger.ErrLost)
	}
	if _, err := l.Renew(t.Context(), sharedledger.Renewal{Account: "a", Was: 5, Next: 6, Horizon: quota.MinHorizon}); err != nil {
		t.Fatal(err)
	}
	if _, err := once(l, benchAsk("a", 1, 100, "units"), 6, "w", 1); err != nil {
		t.Errorf("in the next generation: %v", err)
	}
}

func TestLogThatLostEntriesIsALoss(t *testing.T) {
	s := redisServer(t)
	l := openLedger(t, s.url(), redisledger.Options{Timeout: patient})
	ctx := context.Background()
	state, log := "ingest:{a}", "ingest:{a}:units"
	entry := func(e string) func() { return func() { s.client.RPush(ctx, log, e) } }
	for name, lose := range map[string]func(){
		"it is gone":              func() { s.client.Del(ctx, log) },
		"its newest is gone":      func() { s.client.RPop(ctx, log) },
		"its oldest is gone":      func() { s.client.LPop(ctx, log) },
		"all but its newest":      func() { s.client.LTrim(ctx, log, -1, -1) },
		"it has one too many":     entry(strings.Repeat("x", 20)),
		"the state knows no pool": func() { s.client.HDel(ctx, state, "punits") },
	} {
		for how, ask := range map[string]func(a quota.Ask) error{
			"a take": func(a quota.Ask) error { _, err := once(l, a, 1, "w", 4); return err },
			"a take of two": func(quota.Ask) error { // the other's entry is taken back
				_, err := once(l, benchAsk("a", 1, 99, "other", "units"), 1, "w", 4)
				return err
			},
			"a look":    func(a quota.Ask) error { a.Charges[0].Amount = 0; _, err := once(l, a, 1, "w", 4); return err },
			"a refusal": func(a quota.Ask) error { a.Charges[0].Amount = 97; _, err := once(l, a, 1, "w", 4); return err },
			"again": func(a quota.Ask) error {
				_, err := l.TakeOnce(ctx, a, sharedledger.Operation{Generation: 1, Writer: "w", Number: 3, Nonce: 7})
				return err
			},
			"with precision": func(a quota.Ask) error { a.Precision = time.Hour; _, err := once(l, a, 1, "w", 4); return err },
			"a sync": func(quota.Ask) error {
				return syncs(ctx, l, sharedledger.Batch{Account: "a", Generation: 1, Rows: rows("a", "x", 1, time.Now(), 0)})
			},
		} {
			t.Run(name+", "+how, func(t *testing.T) {
				s.client.FlushAll(ctx)
				shared(t, l, "a", 1)
				for n := range int64(3) {
					if _, err := once(l, benchAsk("a", 1, 99, "units"), 1, "w", n+1); err != nil {
						t.Fatal(err)
					}
				}
				lose()
				before := dump(t, s)
				if err := ask(benchAsk("a", 1, 99, "units")); !errors.Is(err, sharedledger.ErrLost) {
					t.Errorf("%v, want error %v", err, sharedledger.ErrLost)
				}
				if after := dump(t, s); after != before {
					t.Errorf("it changed from\n%q to\n%q", before, after)
				}
				if g, err := l.Renew(ctx, sharedledger.Renewal{Account: "a", Pools: []string{"units"}, Was: 1, Next: 2, Horizon: quota.MinHorizon}); err != nil || g != 2 {
					t.Fatalf("%d, %v, want 2", g, err)
				}
				if d, err := once(l, benchAsk("a", 1, 99, "units"), 2, "w", 1); err != nil || d.Pools[0].Windows[0].Used != 1 {
					t.Errorf("after a renewal: %+v, %v, want Used 1", d, err)
				}
				if n := s.client.HLen(ctx, state).Val(); n != 6 {
					t.Errorf("%d fields are left: %v, want 6", n, s.client.HKeys(ctx, state).Val())
				}
			})
		}
	}
}

// Logs that are left over without a state are wiped too, so that the next generation begins at once.
func TestRenewalWipesLogsWithoutAState(t *testing.T) {
	s := redisServer(t)
	l := openLedger(t, s.url(), redisledger.Options{Timeout: patient})
	shared(t, l, "a", 1)
	for n := range int64(3) {
		if _, err := once(l, benchAsk("a", 1, 99, "units", "search"), 1, "w", n+1); err != nil {
			t.Fatal(err)
		}
	}
	s.client.Del(t.Context(), "ingest:{a}")
	if _, err := once(l, benchAsk("a", 1, 99, "units"), 1, "w", 4); !errors.Is(err, sharedledger.ErrLost) {
		t.Errorf("%v, want error %v", err, sharedledger.ErrLost)
	}
	shared(t, l, "a", 2)
	if d, err := once(l, benchAsk("a", 1, 99, "units", "search"), 2, "w", 1); err != nil || d.Pools[1].Windows[0].Used != 1 {
		t.Errorf("%+v, %v, want Used 1", d, err)
	}
}
