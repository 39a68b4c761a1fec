package redisledger_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/trendvidstream/ingest/internal/faulty"
	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/quotatest/memremote"
	"github.com/trendvidstream/ingest/quota/redisledger"
	"github.com/trendvidstream/ingest/quota/sharedledger"
)

func once(l sharedledger.Remote, a quota.Ask, generation sharedledger.Generation, writer string, number int64) (quota.Decision, error) {
	return l.TakeOnce(context.Background(), a, sharedledger.Operation{Generation: generation, Writer: writer, Number: number, Nonce: 7, Written: number - 1})
}

// G2, as the program does it: one charge for each call, whatever the server forgets in between.
func TestFlushedScriptsEndInOneCharge(t *testing.T) {
	s := redisServer(t)
	open := func() *sharedledger.Ledger {
		tariff := &quota.Tariff{Zone: time.UTC, Failure: quota.Failure{SyncWait: time.Minute}, Pools: []quota.Pool{{Name: "units"}}}
		l, err := sharedledger.Open(tariff, openLedger(t, s.url(), redisledger.Options{Timeout: patient}), &memremote.Journal{}, 1)
		if err != nil {
			t.Fatal(err)
		}
		l.Account, l.SyncWait = "a", time.Nanosecond // both are flushed all the time
		return l
	}
	one, two := open(), open()
	for i := range int64(20) {
		for _, l := range []*sharedledger.Ledger{one, two} {
			if i%3 == 1 {
				s.client.ScriptFlush(t.Context())
			}
			if d, err := l.Take(t.Context(), benchAsk("a", 1, 100, "units")); err != nil || !d.Allowed {
				t.Fatalf("%d: %+v, %v, want it admitted", i, d, err)
			}
		}
		plain := openLedger(t, s.url(), redisledger.Options{Timeout: patient})
		if used := take(t, plain, benchAsk("a", 0, 100, "units")).Pools[0].Windows[0].Used; used != 2*i+2 {
			t.Fatalf("%d used after %d takes", used, 2*i+2)
		}
	}
}

func TestOneOfManyRenewalsWins(t *testing.T) {
	s := redisServer(t)
	l := openLedger(t, s.url(), redisledger.Options{Timeout: patient})
	was := sharedledger.Generation(0)
	for round := range 10 {
		got := make([]sharedledger.Generation, 8)
		var wait sync.WaitGroup
		for i := range got {
			wait.Go(func() {
				g, err := l.Renew(context.Background(), sharedledger.Renewal{Account: "a", Was: was, Next: sharedledger.Generation(100*round + i + 1), Horizon: quota.MinHorizon})
				if err != nil {
					t.Error(err)
				}
				got[i] = g
			})
		}
		wait.Wait()
		for _, g := range got {
			if g != got[0] || g == was {
				t.Fatalf("round %d: generations %v", round, got)
			}
		}
		was = got[0]
	}
}

func TestWritersAreForgotten(t *testing.T) {
	s := redisServer(t)
	l, c := moved(t, s)
	shared(t, l, "a", 1)
	write := func(name string) {
		t.Helper()
		a := benchAsk("a", 1, quota.MaxLimit, "units")
		a.Now, a.Midnights = time.Time{}, quota.Midnights(c.now, time.UTC)
		if _, err := once(l, a, 1, name, 1); err != nil {
			t.Fatal(err)
		}
	}
	const many = 3000
	for i := range many {
		if i%10 == 0 {
			d := sharedledger.Batch{Account: "a", Generation: 1, Horizon: quota.MinHorizon, Rows: rows("a", fmt.Sprint("d", i, "x"), 10, c.now, 0)}
			if _, err := l.Sync(t.Context(), d); err != nil {
				t.Fatal(err)
			}
		}
		write(fmt.Sprint("w", i))
	}
	fields := func() (writers int) {
		for _, f := range s.client.HKeys(t.Context(), "ingest:{a}").Val() {
			if strings.HasPrefix(f, "o") {
				writers++
			}
		}
		return writers
	}
	if n := fields(); n != many+many/10 {
		t.Fatalf("%d writers", n)
	}
	c.set(c.now.Add(quota.MinHorizon - time.Second))
	write("late")
	if n := fields(); n != many+many/10+1 {
		t.Fatalf("%d writers a second before the horizon", n)
	}
	c.set(c.now.Add(time.Second))
	const fresh = 300
	each := milliseconds(t, s, func() {
		for i := range fresh {
			write(fmt.Sprint("new", i))
		}
	}) / fresh
	if n := fields(); n > 2*fresh {
		t.Errorf("%d writers are left of %d, after %d new ones", n, many, fresh)
	}
	t.Logf("%d writers are left, a take of a new one took %.3f ms", fields(), each)
	if each > 2 {
		t.Errorf("%.3f ms, want at most 2", each)
	}
}

func TestAValueThatNoRemoteWroteIsCorruptAndStays(t *testing.T) {
	s := redisServer(t)
	l := openLedger(t, s.url(), redisledger.Options{Timeout: patient})
	ctx := context.Background()
	state, log := "ingest:{a}", "ingest:{a}:units"
	for name, spoil := range map[string]func(){
		"state of another type": func() { s.client.Del(ctx, state); s.client.Set(ctx, state, "x", 0) },
		"log of another type":   func() { s.client.Del(ctx, log); s.client.Set(ctx, log, "x", 0) },
		"meta is a word":        func() { s.client.HSet(ctx, state, "m", "hello") },
		"meta is gone":          func() { s.client.HDel(ctx, state, "m") },
		"pool is a word":        func() { s.client.HSet(ctx, state, "punits", "hello") },
		"writer is a word":      func() { s.client.HSet(ctx, state, "ow", "hello") },
	} {
		t.Run(name, func(t *testing.T) {
			s.client.FlushAll(ctx)
			shared(t, l, "a", 1)
			if _, err := once(l, benchAsk("a", 1, 99, "units"), 1, "w", 1); err != nil {
				t.Fatal(err)
			}
			spoil()
			before := dump(t, s)
			for what, err := range map[string]error{
				"take": second(once(l, benchAsk("a", 1, 99, "units"), 1, "w", 2)),
				"sync": syncs(ctx, l, sharedledger.Batch{Account: "a", Generation: 1, Rows: rows("a", "w", 1, time.Now(), 0),
					Snapshots: []sharedledger.UsageSnapshot{{Pool: "units"}}}),
				"state": second(l.State(ctx, "a", []string{"w"})),
				"renew": second(l.Renew(ctx, sharedledger.Renewal{Account: "a", Pools: []string{"units"}, Was: 1, Next: 2})),
			} {
				switch {
				case strings.HasPrefix(name, "writer") && what == "sync": // it names w0
				case what == "state" && (name == "log of another type" || name == "pool is a word" || name == "meta is gone"): // it does not look there
				case what == "renew" && strings.HasPrefix(name, "writer"):
				case !errors.Is(err, quota.ErrCorrupt):
					t.Errorf("%s: %v", what, err)
				}
			}
			if strings.HasPrefix(name, "writer") {
				return // it was renewed
			}
			if after := dump(t, s); after != before {
				t.Errorf("it changed from\n%q to\n%q", before, after)
			}
		})
	}
	s.client.FlushAll(ctx)
	shared(t, l, "a", 1)
	s.client.HSet(ctx, state, "m", "q\x02something else")
	for _, err := range []error{
		second(once(l, benchAsk("a", 1, 99, "units"), 1, "w", 2)), syncs(ctx, l, sharedledger.Batch{Account: "a", Generation: 1, Host: &sharedledger.Host{ID: "h"}}),
		second(l.State(ctx, "a", nil)), second(l.Renew(ctx, sharedledger.Renewal{Account: "a", Was: 1, Next: 2})),
	} {
		if !errors.Is(err, quota.ErrNewer) {
			t.Errorf("of a newer version: %v, want error %v", err, quota.ErrNewer)
		}
	}
}

func second[T any](_ T, err error) error { return err }

// The state of a plain ledger becomes the state of a shared one: nothing that it knew is lost.
func TestPlainLedgerBecomesShared(t *testing.T) {
	s := redisServer(t)
	l := openLedger(t, s.url(), redisledger.Options{Timeout: patient})
	take(t, l, benchAsk("a", 7, 99, "units"))
	if state, err := l.State(t.Context(), "a", nil); err != nil || state.Generation != 0 {
		t.Errorf("%+v, %v, want Generation 0", state, err)
	}
	if _, err := once(l, benchAsk("a", 1, 99, "units"), 3, "w", 1); !errors.Is(err, sharedledger.ErrLost) {
		t.Errorf("%v, want error %v", err, sharedledger.ErrLost)
	}
	shared(t, l, "a", 3)
	if d, err := once(l, benchAsk("a", 1, 99, "units"), 3, "w", 1); err != nil || d.Pools[0].Windows[0].Used != 8 {
		t.Errorf("%+v, %v, want Used 8", d, err)
	}
	if used := take(t, l, benchAsk("a", 1, 99, "units")).Pools[0].Windows[0].Used; used != 9 {
		t.Errorf("%d used, want 9", used)
	}
}

// The reply that was lost is asked for again, over a real connection that was cut.
func TestLostReplyToANumberedTakeIsAskedForAgain(t *testing.T) {
	s := redisServer(t)
	proxy := faulty.Before(t, fmt.Sprintf("127.0.0.1:%d", s.port))
	l := openLedger(t, "redis://"+proxy.Addr(), redisledger.Options{Timeout: patient})
	shared(t, l, "a", 1)
	a := benchAsk("a", 10, 10, "units")
	proxy.Lose(1, faulty.Closed)
	if _, err := once(l, a, 1, "w", 1); !errors.Is(err, quota.ErrUnavailable) || !errors.Is(err, quota.ErrInDoubt) {
		t.Fatalf("%v, want error %v and error %v", err, quota.ErrUnavailable, quota.ErrInDoubt)
	}
	first, err := once(l, a, 1, "w", 1)
	if err != nil || !first.Allowed || first.Pools[0].Remaining != 0 {
		t.Fatalf("%+v, %v, want it admitted, with nothing remaining", first, err)
	}
	again, err := once(l, a, 1, "w", 1)
	if err != nil || !reflect.DeepEqual(first, again) {
		t.Errorf("%+v, %v, want the first answer, %+v", again, err, first)
	}
	if used := take(t, l, benchAsk("a", 0, 10, "units")).Pools[0].Windows[0].Used; used != 10 {
		t.Errorf("%d used, want 10", used)
	}
}
