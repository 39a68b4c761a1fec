package redisledger_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/memledger"
	"github.com/trendvidstream/ingest/quota/redisledger"
)

// patient keeps a busy machine from looking like a broken server, where that is not the question.
const patient = 10 * time.Second

func TestManyWritersGetExactlyTheLimit(t *testing.T) {
	s := redisServer(t)
	shared := openLedger(t, s.url(), redisledger.Options{Timeout: patient})
	const writers, limit = 64, 1000
	var allowed, refused atomic.Int64
	var wait sync.WaitGroup
	for i := range writers {
		l := shared
		if i%2 == 0 {
			l = openLedger(t, s.url(), redisledger.Options{Timeout: patient})
		}
		wait.Go(func() {
			for range 2 * limit / writers {
				d, err := l.Take(t.Context(), benchAsk("a", 1, limit, "units", "search"))
				switch {
				case err != nil:
					t.Error(err)
				case d.Allowed:
					allowed.Add(1)
				default:
					refused.Add(1)
				}
			}
		})
	}
	wait.Wait()
	if allowed.Load() != limit {
		t.Errorf("%d allowed and %d refused of a limit of %d", allowed.Load(), refused.Load(), limit)
	}
}

var keyspace = regexp.MustCompile(`keys=(\d+),expires=(\d+)`)

// A hundred thousand accounts; case F2 of TestConformance makes two thousand and finds the same lie.
func TestLongOneOffAccountsAllExpire(t *testing.T) {
	s := redisServer(t)
	l := openLedger(t, s.url(), redisledger.Options{Timeout: patient})
	const accounts = 20_000
	var next atomic.Int64
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			a := benchAsk("", 1, 100, "units")
			a.Now = time.Time{}
			for i := next.Add(1); i <= int64(accounts); i = next.Add(1) {
				a.Account = strconv.FormatInt(i, 10)
				if _, err := l.Take(context.Background(), a); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wait.Wait()
	m := keyspace.FindStringSubmatch(s.client.Info(t.Context(), "keyspace").Val())
	if want := strconv.Itoa(2 * accounts); m == nil || m[1] != want || m[2] != want {
		t.Errorf("of %s keys, some do not expire: %v", want, m)
	}
}

// Keys live for the longest horizon and about two hours more, counted from the last charge, by any way of writing.
func TestKeysOutliveTheHorizon(t *testing.T) {
	s := redisServer(t)
	ctx := t.Context()
	lives := func(account string, horizon time.Duration, pools ...string) {
		t.Helper()
		for _, k := range append([]string{""}, pools...) {
			key := "ingest:{" + account + "}"
			if k != "" {
				key += ":" + k
			}
			if ttl := s.client.PTTL(ctx, key).Val(); ttl < horizon+110*time.Minute || ttl > horizon+2*time.Hour {
				t.Errorf("%s lives for %v", key, ttl)
			}
		}
	}
	l, c := moved(t, s)
	ask := func(account string, amount int64) quota.Ask {
		a := benchAsk(account, amount, 100, "units", "search")
		a.Now, a.Midnights = time.Time{}, quota.Midnights(c.now, time.UTC)
		return a
	}
	take(t, l, ask("a", 1))
	lives("a", 26*time.Hour, "units", "search")
	longer := ask("a", 1)
	longer.Horizon = 100 * time.Hour
	take(t, l, longer)
	lives("a", 100*time.Hour, "units", "search")
	take(t, l, ask("a", 1))
	lives("a", 100*time.Hour, "units", "search")

	// So it is where a post or a drain of another pool says how long.
	of := func(account, pool string, horizon time.Duration) quota.Ask {
		a := benchAsk(account, 1, 100, pool)
		a.Now, a.Midnights, a.Horizon = time.Time{}, quota.Midnights(c.now, time.UTC), horizon
		return a
	}
	take(t, l, of("posted", "units", 26*time.Hour))
	take(t, l, of("drained", "units", 25*time.Hour))
	if err := errors.Join(l.Post(ctx, of("posted", "search", 100*time.Hour), c.now), l.Drain(ctx, "drained", "search", quota.Drain{Until: c.now.Add(time.Hour)})); err != nil {
		t.Fatal(err)
	}
	lives("posted", 100*time.Hour, "units", "search")
	lives("drained", 26*time.Hour, "units")

	// A renewal is due by the ledger's clock: take some of the keys' lives first.
	short := func(keys ...string) {
		for _, k := range keys {
			s.client.PExpire(ctx, k, time.Hour)
		}
	}
	short("ingest:{a}", "ingest:{a}:units", "ingest:{a}:search")
	c.set(c.now.Add(9 * time.Minute))
	take(t, l, ask("a", 1))
	if ttl := s.client.PTTL(ctx, "ingest:{a}").Val(); ttl > time.Hour {
		t.Errorf("renewed after 9 minutes: %v, want at most %v", ttl, time.Hour)
	}
	c.set(c.now.Add(2 * time.Minute))
	take(t, l, ask("a", 0))
	if ttl := s.client.PTTL(ctx, "ingest:{a}").Val(); ttl > time.Hour {
		t.Errorf("a look renewed it: %v, want at most %v", ttl, time.Hour)
	}
	take(t, l, ask("a", 1))
	lives("a", 100*time.Hour, "units", "search")

	if err := l.Post(ctx, ask("b", 1), c.now.Add(-time.Hour)); err != nil {
		t.Fatal(err)
	}
	lives("b", 26*time.Hour, "units", "search")
	if err := l.Post(ctx, ask("b", 1), c.now.Add(-26*time.Hour)); err != nil {
		t.Fatal(err)
	}
	if n := s.client.LLen(ctx, "ingest:{b}:units").Val(); n != 1 {
		t.Errorf("a post beyond the horizon was kept: %d entries, want 1", n)
	}
	if err := l.Drain(ctx, "c", "units", quota.Drain{Until: c.now.Add(50 * time.Hour), Used: 7}); err != nil {
		t.Fatal(err)
	}
	lives("c", 50*time.Hour)
	take(t, l, ask("b", 1))
	d := take(t, l, ask("b", 2))
	if err := l.Refund(ctx, "b", d); err != nil {
		t.Fatal(err)
	}
	lives("b", 26*time.Hour, "units", "search")
}

// Once the log's key has expired, the state that outlives it does not miss it.
func TestLogThatExpiredIsEmpty(t *testing.T) {
	s := redisServer(t)
	l, c := moved(t, s)
	ask := func(amount int64, pools ...string) quota.Ask {
		a := benchAsk("a", amount, 100, pools...)
		a.Now, a.Midnights = time.Time{}, quota.Midnights(c.now, time.UTC)
		return a
	}
	for _, gone := range []bool{true, false} {
		take(t, l, ask(7, "units", "search"))
		c.set(c.now.Add(20 * time.Hour))
		take(t, l, ask(5, "search"))
		c.set(c.now.Add(10 * time.Hour))
		if gone { // the server's own clock did not move
			s.client.Del(t.Context(), "ingest:{a}:units")
		}
		for _, amount := range []int64{0, 3} {
			d := take(t, l, ask(amount, "units", "search"))
			if units, search := d.Pools[0].Windows[0].Used, d.Pools[1].Windows[0].Used; units != amount || search != 5+amount {
				t.Errorf("%d and %d used", units, search)
			}
		}
		if spent, err := l.Spent(t.Context(), "a", c.now.Add(-48*time.Hour), 0); err != nil || len(spent) != 2 || spent[1].Amount != 3 {
			t.Errorf("%+v, %v, want 2 spends, the second of 3", spent, err)
		}
		c.set(c.now.Add(48 * time.Hour))
		if gone {
			s.client.Del(t.Context(), "ingest:{a}:units", "ingest:{a}:search")
		}
		if spent, err := l.Spent(t.Context(), "a", c.now.Add(-48*time.Hour), 0); err != nil || len(spent) != 0 {
			t.Errorf("%+v, %v, want none", spent, err)
		}
		if err := l.Post(t.Context(), ask(2, "units"), c.now); err != nil {
			t.Error(err)
		}
		c.set(c.now.Add(48 * time.Hour))
	}
}

func TestMemory(t *testing.T) {
	s := redisServer(t)
	l := openLedger(t, s.url(), redisledger.Options{Timeout: patient})
	ctx := t.Context()
	usage := func(account string) (all, log int64) {
		for _, k := range s.client.Keys(ctx, "ingest:{"+account+"}*").Val() {
			n := s.client.MemoryUsage(ctx, k, 0).Val()
			all += n
			if strings.HasSuffix(k, ":units") {
				log = n
			}
		}
		return all, log
	}
	for range 10_000 {
		take(t, l, benchAsk("ones", 1, 10_000, "units"))
	}
	all, log := usage("ones")
	t.Logf("10,000 calls of cost 1: %.2f bytes each in the log, %d bytes in all", float64(log)/10_000, all)
	if log > 25*10_000 {
		t.Errorf("%d bytes", log)
	}
	for range 100 {
		take(t, l, benchAsk("hundreds", 100, 10_000, "units"))
	}
	all, _ = usage("hundreds")
	t.Logf("100 calls of cost 100: %d bytes in all", all)
	if all > 4000 {
		t.Errorf("%d bytes, want at most 4000", all)
	}
}

// F3: the cost of a day's entries that leave all at once.
func TestFirstCallAfterIdleDoesNotStall(t *testing.T) {
	s := redisServer(t)
	l, c := moved(t, s)
	const entries = 10_000
	for _, idle := range []time.Duration{25 * time.Hour, 30 * time.Hour} {
		var slowest float64
		for try := 0; try < 5 && (try == 0 || slowest > 5000); try++ { // the server may have lost its turn to other programs
			account := fmt.Sprintf("idle-%v-%d", idle, try)
			ask := func(amount int64) quota.Ask {
				a := benchAsk(account, amount, entries, "units")
				a.Now, a.Midnights = time.Time{}, quota.Midnights(c.now, time.UTC)
				return a
			}
			for range entries {
				take(t, l, ask(1))
			}
			c.set(c.now.Add(idle))
			slowest = 0
			for range 65 { // entries are dropped in one call of 64
				s.client.ConfigResetStat(t.Context())
				if d := take(t, l, ask(1)); !d.Allowed {
					t.Fatalf("%+v, want it admitted", d)
				}
				m := evalsha.FindStringSubmatch(s.client.Info(t.Context(), "commandstats").Val())
				us, _ := strconv.ParseFloat(m[2], 64)
				slowest = max(slowest, us)
			}
			kept := s.client.LLen(t.Context(), "ingest:{"+account+"}:units").Val()
			t.Logf("after %v idle: the slowest call took %.0f us, %d entries are left", idle, slowest, kept)
			if idle > 26*time.Hour && kept > 129 {
				t.Errorf("after %v idle %d entries are left", idle, kept)
			}
		}
		if slowest > 5000 {
			t.Errorf("after %v idle a call took %.0f us, want at most 5000", idle, slowest)
		}
	}
}

func TestPrecisionBoundsTheLog(t *testing.T) {
	s := redisServer(t)
	l, c := moved(t, s)
	for range 600 {
		c.set(c.now.Add(time.Second))
		a := benchAsk("a", 1, 1_000_000, "units")
		a.Now, a.Midnights, a.Precision = time.Time{}, quota.Midnights(c.now, time.UTC), time.Minute
		take(t, l, a)
	}
	if n := s.client.LLen(t.Context(), "ingest:{a}:units").Val(); n > 11 {
		t.Errorf("%d entries of ten minutes, want at most 11", n)
	}
}

// K8: a pool of 10^12 a second reaches 2^53 within hours. Its totals are made small again, and no decision changes.
func TestTotalsStaySmall(t *testing.T) {
	s := redisServer(t)
	l, c := moved(t, s)
	m := &memledger.Ledger{Now: func() time.Time { return c.now }}
	ask := func(amount int64) quota.Ask {
		bounds := []quota.Bound{
			{Window: quota.Window{Name: "1s", Length: time.Second, Limit: quota.MaxLimit}, Ceiling: quota.MaxLimit},
			{Window: quota.Window{Name: "day", Limit: quota.MaxLimit}, Ceiling: quota.MaxLimit}}
		return quota.Ask{Account: "a", Who: quota.Who{Purpose: quota.Manual, Method: "m"}, Horizon: quota.MinHorizon, Midnights: quota.Midnights(c.now, time.UTC),
			Charges: []quota.Charge{{Pool: "units", Amount: amount, Bounds: bounds[:1]}, {Pool: "few", Amount: amount % 2, Bounds: bounds}}}
	}
	highest := 0.0
	for i := range 10_000 {
		c.set(c.now.Add(time.Second))
		amount := []int64{quota.MaxLimit, quota.MaxLimit - 1}[i%2]
		got, err := l.Take(t.Context(), ask(amount))
		if err != nil || !got.Allowed {
			t.Fatalf("%d: %+v %v, want it admitted", i, got, err)
		}
		if i < 7_000 {
			continue
		}
		want, err := m.Take(t.Context(), ask(amount))
		if err != nil || !want.Allowed {
			t.Fatalf("%d: %+v %v", i, want, err)
		}
		c.set(c.now.Add(time.Duration(i%3) * time.Microsecond))
		wd, we := m.Take(t.Context(), ask(2))
		gd, ge := l.Take(t.Context(), ask(2))
		gd.Pools, wd.Pools = gd.Pools[:1], wd.Pools[:1] // the other is younger in memory
		if want, got := outcome(wd, we), outcome(gd, ge); !reflect.DeepEqual(want, got) {
			t.Fatalf("%d:\nwant %+v\ngot  %+v", i, want, got)
		}
		if i%100 == 0 {
			highest = max(highest, float64(seven(s.client.HGet(t.Context(), "ingest:{a}", "punits").Val())))
		}
	}
	if highest >= 1<<53 {
		t.Errorf("a total of %g", highest)
	}
	if n := s.client.LLen(t.Context(), "ingest:{a}:few").Val(); n != 5_000 {
		t.Errorf("%d entries of a pool that was not too large", n)
	}
	if ttl := s.client.PTTL(t.Context(), "ingest:{a}:units").Val(); ttl < 27*time.Hour {
		t.Errorf("its log lives for %v", ttl)
	}
}

// A client's keys leave with its window; a log never outlives its state, which would look like damage.
func TestKeysOfAClientLeaveWithItsWindow(t *testing.T) {
	s := redisServer(t)
	l, c := moved(t, s)
	ask := func(horizon time.Duration, pools ...string) quota.Ask {
		a := benchAsk("http.ip", 1, 1000, pools...)
		for i := range a.Charges {
			a.Charges[i].Bounds = []quota.Bound{{Window: quota.Window{Name: "1m", Length: time.Minute, Limit: 1000}, Ceiling: 1000}}
		}
		a.Now, a.Midnights, a.Grace, a.Horizon, a.Precision = time.Time{}, nil, 0, horizon, time.Second
		return a
	}
	lives := func(key string) time.Duration { return s.client.PTTL(t.Context(), "ingest:{http.ip}"+key).Val() }
	// The server's clock stands still while the ledger's moves, so that a key lives from its last renewal on.
	for i, a := range []quota.Ask{ask(time.Minute, "requests"), ask(time.Minute, "requests", "route"), ask(time.Hour, "requests"), ask(time.Minute, "route")} {
		take(t, l, a)
		state, log := lives(""), max(lives(":requests"), lives(":route"))
		if horizon := []time.Duration{time.Minute, time.Minute, time.Hour, time.Hour}[i]; state < log-10*time.Millisecond ||
			state > horizon+2*time.Second || state < horizon-time.Second {
			t.Errorf("take %d: the state lives for %v, a log for %v", i+1, state, log)
		}
		c.set(c.now.Add(900 * time.Millisecond))
	}
	c.set(c.now.Add(time.Hour + 2*time.Second))
	s.client.Del(t.Context(), "ingest:{http.ip}", "ingest:{http.ip}:requests", "ingest:{http.ip}:route")
	if d := take(t, l, ask(time.Minute, "requests", "route")); !d.Allowed || d.Pools[0].Windows[0].Used != 1 {
		t.Errorf("%+v, want it admitted, with 1 used", d)
	}
}
