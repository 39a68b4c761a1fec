package redisledger_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/trendvidstream/ingest/internal/faulty"
	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/redisledger"
)

func openLedger(t testing.TB, url string, o redisledger.Options) *redisledger.Ledger {
	t.Helper()
	l, err := redisledger.Open(context.Background(), url, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

func take(t testing.TB, l quota.Ledger, a quota.Ask) quota.Decision {
	t.Helper()
	d, err := l.Take(context.Background(), a)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// everything asks for each operation once and returns the errors.
func everything(ctx context.Context, l quota.Ledger, account string) map[string]error {
	a := benchAsk(account, 1, 100, "units")
	peek := benchAsk(account, 0, 100, "units")
	errs := map[string]error{}
	d, err := l.Take(ctx, a)
	errs["take"] = err
	_, errs["peek"] = l.Take(ctx, peek)
	if err != nil {
		d = quota.Decision{Allowed: true, At: time.Now(), Pools: []quota.PoolState{{Pool: "units", Charged: 1, Entry: 1}}}
	}
	errs["refund"] = l.Refund(ctx, account, d)
	errs["post"] = l.Post(ctx, a, time.Now().Add(-time.Minute))
	errs["drain"] = l.Drain(ctx, account, "units", quota.Drain{Until: time.Now().Add(time.Hour), Used: 5})
	_, errs["spent"] = l.Spent(ctx, account, time.Now().Add(-time.Hour), 0)
	return errs
}

func wantAll(t *testing.T, errs map[string]error, want error, text string) {
	t.Helper()
	for what, err := range errs {
		if !errors.Is(err, want) || err != nil && !strings.Contains(err.Error(), text) {
			t.Errorf("%s: %v, want %v with %q", what, err, want, text)
		}
	}
}

func TestServerThatIsNotThereIsUnavailable(t *testing.T) {
	url := fmt.Sprintf("redis://127.0.0.1:%d", faulty.FreePort(t))
	for _, kind := range []string{url, strings.Replace(url, "redis:", "redis+cluster:", 1), strings.Replace(url, "redis:", "redis+sentinel:", 1) + "?master_name=m"} {
		l := openLedger(t, kind, redisledger.Options{})
		began := time.Now()
		wantAll(t, everything(t.Context(), l, "a"), quota.ErrUnavailable, "")
		if d := time.Since(began); d > 6*700*time.Millisecond {
			t.Errorf("%s: six operations took %v", kind, d)
		}
	}
}

func TestHangIsBoundedByTheTimeOut(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0") // accepts, and never answers
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	l := openLedger(t, "redis://"+listener.Addr().String(), redisledger.Options{Timeout: 100 * time.Millisecond})
	began := time.Now()
	wantAll(t, everything(t.Context(), l, "a"), quota.ErrUnavailable, "")
	if d := time.Since(began); d > 6*150*time.Millisecond {
		t.Errorf("six operations with a time-out of 100 ms took %v", d)
	}
}

// By default, the client library sends a command again if its reply is lost.
func TestLostReplyIsAnErrorAndNotASecondCharge(t *testing.T) {
	s := redisServer(t)
	cluster := redisServer(t, "--cluster-enabled", "yes")
	cluster.client.ClusterAddSlotsRange(t.Context(), 0, 16383)
	await(t, func(ctx context.Context) error { return cluster.client.Set(ctx, "k", "", 0).Err() })
	for kind, s := range map[string]*server{"redis:": s, "redis+cluster:": cluster} {
		proxy := faulty.Before(t, fmt.Sprintf("127.0.0.1:%d", s.port))
		if kind == "redis+cluster:" { // clients of a Cluster connect to the address that the server announces
			_, port, _ := net.SplitHostPort(proxy.Addr())
			s.client.ConfigSet(t.Context(), "cluster-announce-port", port)
		}
		l := openLedger(t, kind+"//"+proxy.Addr(), redisledger.Options{Timeout: patient})
		take(t, l, benchAsk("a", 1, 100, "units"))
		asked := proxy.Scripts()
		proxy.Lose(1, faulty.Closed)
		if d, err := l.Take(t.Context(), benchAsk("a", 1, 100, "units")); !errors.Is(err, quota.ErrUnavailable) {
			t.Errorf("%s the reply was lost: %+v, %v, want error %v", kind, d, err, quota.ErrUnavailable)
		}
		if n := proxy.Scripts() - asked; n != 1 {
			t.Errorf("%s one take was sent %d times, want 1", kind, n)
		}
		if used := take(t, l, benchAsk("a", 0, 100, "units")).Pools[0].Windows[0].Used; used != 2 {
			t.Errorf("%s %d used after a take and one whose reply was lost, want 2", kind, used)
		}
	}
}

func TestCallerWhoGivesUpIsToldSo(t *testing.T) {
	s := redisServer(t)
	l := openLedger(t, s.url(), redisledger.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for what, err := range everything(ctx, l, "a") {
		if !errors.Is(err, quota.ErrUnavailable) || !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v, want error %v and error %v", what, err, quota.ErrUnavailable, context.Canceled)
		}
	}
}

func TestReadOnlyReplicaIsUnavailable(t *testing.T) {
	s := redisServer(t, "--replicaof", fmt.Sprintf("127.0.0.1 %d", faulty.FreePort(t)))
	wantAll(t, everything(t.Context(), openLedger(t, s.url(), redisledger.Options{}), "a"), quota.ErrUnavailable, "READONLY")
}

func TestFullServerIsUnavailableAndUnchanged(t *testing.T) {
	s := redisServer(t)
	l := openLedger(t, s.url(), redisledger.Options{})
	take(t, l, benchAsk("a", 1, 100, "units"))
	before := dump(t, s)
	s.client.ConfigSet(t.Context(), "maxmemory", "1")
	_, err := l.Take(t.Context(), benchAsk("a", 1, 100, "units", "search"))
	if !errors.Is(err, quota.ErrUnavailable) || !strings.Contains(err.Error(), "OOM") {
		t.Errorf("%v, want error %v and \"OOM\" in it", err, quota.ErrUnavailable)
	}
	if after := dump(t, s); after != before {
		t.Errorf("it changed from %q to %q", before, after)
	}
}

func TestFlushedScriptsAreLoadedAgain(t *testing.T) {
	s := redisServer(t)
	l := openLedger(t, s.url(), redisledger.Options{})
	take(t, l, benchAsk("a", 1, 100, "units"))
	s.client.ScriptFlush(t.Context())
	if used := take(t, l, benchAsk("a", 1, 100, "units")).Pools[0].Windows[0].Used; used != 2 {
		t.Errorf("%d used after two takes, want 2", used)
	}
}

func TestClockFarFromTheCallersIsUnavailable(t *testing.T) {
	s := redisServer(t)
	l := openLedger(t, s.url(), redisledger.Options{})
	for _, gap := range []time.Duration{-61 * time.Second, 61 * time.Second, -25 * time.Hour, 25 * time.Hour} {
		a := benchAsk("a", 1, 100, "units")
		a.Now = time.Now().Add(gap)
		_, err := l.Take(t.Context(), a)
		if !errors.Is(err, quota.ErrUnavailable) || !strings.Contains(err.Error(), "clock") {
			t.Errorf("%v apart: %v, want error %v and \"clock\" in it", gap, err, quota.ErrUnavailable)
		}
		if err := l.Post(t.Context(), a, a.Now); !errors.Is(err, quota.ErrUnavailable) {
			t.Errorf("post, %v apart: %v, want error %v", gap, err, quota.ErrUnavailable)
		}
	}
	for _, gap := range []time.Duration{-31 * time.Second, 31 * time.Second} { // above the ask's own gap of 30 s
		a := benchAsk("a", 1, 100, "units")
		a.Now, a.Gap = time.Now().Add(gap), 30*time.Second
		_, err := l.Take(t.Context(), a)
		if posted := l.Post(t.Context(), a, a.Now); !errors.Is(err, quota.ErrUnavailable) || !errors.Is(posted, quota.ErrUnavailable) {
			t.Errorf("%v apart with a gap of 30 s: %v, post: %v, want error %v and error %v", gap, err, posted, quota.ErrUnavailable, quota.ErrUnavailable)
		}
	}
	for _, gap := range []time.Duration{-55 * time.Second, 55 * time.Second} {
		a := benchAsk("b", 1, 100, "units")
		a.Now = time.Now().Add(gap)
		take(t, l, a)
	}
	if n := s.client.Exists(t.Context(), "ingest:{a}", "ingest:{a}:units").Val(); n != 0 {
		t.Errorf("%d keys were written, want 0", n)
	}
}

func TestClockBehindTheNewestEntryIsUnavailable(t *testing.T) {
	s := redisServer(t)
	l, c := moved(t, s)
	a := benchAsk("a", 1, 100, "units")
	a.Now, a.Midnights = time.Time{}, quota.Midnights(c.now, time.UTC)
	first := take(t, l, a)
	a.Grace = 0 // the ledger tolerates a clock up to 60 s behind its newest entry
	c.set(c.now.Add(-50 * time.Second))
	if d := take(t, l, a); !d.At.Equal(first.At) {
		t.Errorf("a clock that stepped back 50 s gave an entry of %v, before the newest of %v", d.At, first.At)
	}
	c.set(c.now.Add(-20 * time.Second))
	if _, err := l.Take(t.Context(), a); !errors.Is(err, quota.ErrUnavailable) {
		t.Errorf("a clock that stepped back 70 s: %v, want error %v", err, quota.ErrUnavailable)
	}
}

// dump returns the server's content, except data staged by a sync, which expire in a minute.
func dump(t testing.TB, s *server) string {
	t.Helper()
	ctx := context.Background()
	var all strings.Builder
	keys := s.client.Keys(ctx, "*").Val()
	slices.Sort(keys)
	for _, k := range keys {
		if strings.Contains(k, "}~") {
			continue
		}
		value := s.client.Dump(ctx, k).Val()
		if fields, err := s.client.HGetAll(ctx, k).Result(); err == nil { // a dump has them in any order
			value = fmt.Sprintf("%q", fields)
		}
		fmt.Fprintf(&all, "%s=%s expires %v\n", k, value, s.client.PExpireTime(ctx, k).Val())
	}
	return all.String()
}

func TestAValueThatNoLedgerWroteIsCorruptAndStays(t *testing.T) {
	s := redisServer(t)
	l := openLedger(t, s.url(), redisledger.Options{})
	ctx := context.Background()
	state, log := "ingest:{a}", "ingest:{a}:units"
	garbage := make([]byte, 110)
	_, _ = rand.Read(garbage)
	for name, spoil := range map[string]func(){
		"state of another type":                        func() { s.client.Del(ctx, state); s.client.Set(ctx, state, "x", 0) },
		"log of another type":                          func() { s.client.Del(ctx, log); s.client.Set(ctx, log, "x", 0) },
		"log of a type with a length":                  func() { s.client.Del(ctx, log); s.client.SAdd(ctx, log, "1", "2", "3") },
		"meta is a word":                               func() { s.client.HSet(ctx, state, "m", "hello") },
		"meta is empty":                                func() { s.client.HSet(ctx, state, "m", "") },
		"meta of a newer version's kind, but not ours": func() { s.client.HSet(ctx, state, "m", "x\x02something else") },
		"meta of version 0":                            func() { s.client.HSet(ctx, state, "m", "q"+string(make([]byte, 35))) },
		"meta is gone":                                 func() { s.client.HDel(ctx, state, "m") },
		"pool is a word":                               func() { s.client.HSet(ctx, state, "punits", "hello") },
		"pool is all ones":                             func() { s.client.HSet(ctx, state, "punits", strings.Repeat("\xff", 110)) },
		"log has one entry too many":                   func() { s.client.RPush(ctx, log, "12345678901234567890") },
		"log has lost its newest":                      func() { s.client.RPop(ctx, log) },
		"log has lost its oldest":                      func() { s.client.LPop(ctx, log) },
		"log is gone":                                  func() { s.client.Del(ctx, log) },
	} {
		t.Run(name, func(t *testing.T) {
			s.client.FlushAll(ctx)
			a := benchAsk("a", 1, 100, "search", "units")
			for range 3 {
				take(t, l, a)
			}
			spoil()
			before := dump(t, s)
			if _, err := l.Take(ctx, a); !errors.Is(err, quota.ErrCorrupt) || !strings.Contains(err.Error(), `DEL "ingest:{a}"`) {
				t.Errorf("take: %v, want error %v and \"DEL \\\"ingest:{a}\\\"\" in it", err, quota.ErrCorrupt)
			}
			if err := l.Post(ctx, a, time.Now().Add(-time.Minute)); !errors.Is(err, quota.ErrCorrupt) {
				t.Errorf("post: %v, want error %v", err, quota.ErrCorrupt)
			}
			if after := dump(t, s); after != before {
				t.Errorf("it changed:\n%q\n%q", before, after)
			}
		})
	}
}

func TestLedgerOfANewerVersionIsLeftAlone(t *testing.T) {
	s := redisServer(t)
	l := openLedger(t, s.url(), redisledger.Options{})
	take(t, l, benchAsk("a", 1, 100, "units"))
	s.client.HSet(t.Context(), "ingest:{a}", "m", "q\x02something else")
	before := dump(t, s)
	wantAll(t, everything(t.Context(), l, "a"), quota.ErrNewer, "version 2")
	if after := dump(t, s); after != before {
		t.Errorf("it changed:\n%q\n%q", before, after)
	}
}

func TestRefusesHostileAsks(t *testing.T) {
	s := redisServer(t)
	l := openLedger(t, s.url(), redisledger.Options{})
	for name, change := range map[string]func(*quota.Ask){
		"an account with braces":  func(a *quota.Ask) { a.Account = "{x}" },
		"an account with a space": func(a *quota.Ask) { a.Account = "a b" },
		"an account of 10 kB":     func(a *quota.Ask) { a.Account = strings.Repeat("a", 10_000) },
		"no account":              func(a *quota.Ask) { a.Account = "" },
		"a negative cost":         func(a *quota.Ask) { a.Charges[0].Amount = -1 },
		"an overflowing cost":     func(a *quota.Ask) { a.Charges[0].Amount = 1 << 62 },
		"a cost above the limit":  func(a *quota.Ask) { a.Charges[0].Amount = 101 },
		"a negative grace":        func(a *quota.Ask) { a.Grace = -time.Second },
		"no midnights":            func(a *quota.Ask) { a.Midnights = nil },
		"yesterday's midnights": func(a *quota.Ask) {
			a.Midnights = quota.Midnights(time.Now().Add(-72*time.Hour), time.UTC)
			a.Now = time.Time{}
		},
		"300 windows": func(a *quota.Ask) {
			for range 300 {
				a.Charges[0].Bounds = append(a.Charges[0].Bounds, a.Charges[0].Bounds[0])
			}
		},
		"100 pools": func(a *quota.Ask) {
			for i := range 100 {
				c := a.Charges[0]
				c.Pool = fmt.Sprint(i)
				a.Charges = append(a.Charges, c)
			}
		},
	} {
		a := benchAsk("a", 1, 100, "units")
		change(&a)
		if d, err := l.Take(t.Context(), a); err == nil {
			t.Errorf("%s: %+v, want an error", name, d)
		}
		if name != "yesterday's midnights" {
			if err := l.Post(t.Context(), a, time.Now()); err == nil {
				t.Errorf("%s: posted, want an error", name)
			}
		}
	}
	if n := s.client.DBSize(t.Context()).Val(); n != 0 {
		t.Errorf("%d keys were written, want 0", n)
	}
	// All other names are accepted, of pools, regions and methods.
	a := benchAsk("a", 1, 100, "{x} \r\n\x00:y")
	a.Who = quota.Who{Purpose: quota.Manual, Region: "a\x00b", Method: strings.Repeat("m", 300)}
	take(t, l, a)
	spent, err := l.Spent(t.Context(), "a", time.Now().Add(-time.Hour), 0)
	if err != nil || len(spent) != 1 || spent[0] != (quota.Spent{Pool: a.Charges[0].Pool, Who: a.Who, Amount: 1}) {
		t.Errorf("%+v, %v, want one spend of 1 by %+v", spent, err, a.Who)
	}
}
