package redisledger_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/redisledger"
	"github.com/trendvidstream/ingest/quota/sharedledger"
	"github.com/trendvidstream/ingest/quota/sqliteledger"
)

var evalsha = regexp.MustCompile(`cmdstat_evalsha:calls=(\d+),usec=(\d+)`)

// A contender is one call to the server.
type contender struct {
	name string
	call func() error
}

// serverTimes are the server's own times for one call of each, in microseconds: the contenders take turns, and the
// median of their batches counts.
func serverTimes(t testing.TB, s *server, contenders []contender) map[string]float64 {
	t.Helper()
	const batches, calls = 15, 200
	ctx := context.Background()
	all := map[string][]float64{}
	for range batches {
		for _, c := range contenders {
			s.client.ConfigResetStat(ctx)
			for range calls {
				if err := c.call(); err != nil {
					t.Fatal(c.name, err)
				}
			}
			m := evalsha.FindStringSubmatch(s.client.Info(ctx, "commandstats").Val())
			n, _ := strconv.ParseFloat(m[1], 64)
			us, _ := strconv.ParseFloat(m[2], 64)
			all[c.name] = append(all[c.name], us/n)
		}
	}
	median := map[string]float64{}
	for name, times := range all {
		slices.Sort(times)
		median[name] = times[len(times)/2]
	}
	return median
}

// gcra does the work of an approximate limiter for one window: read the clock, read and write one key.
const gcra = `
local burst, rate, period, cost = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4])
local interval = period / rate
local time = redis.call('TIME')
local now = (time[1] - 1483228800) + (time[2] / 1000000)
local tat = redis.call('GET', KEYS[1])
if not tat then
	tat = now
else
	tat = tonumber(tat)
end
local new = math.max(tat, now) + interval * cost
local remaining = (now - (new - interval * burst)) / interval
if remaining < 0 then
	return { 0, 0, tostring(-remaining), tostring(tat - now) }
end
local reset = new - now
if reset > 0 then
	redis.call('SET', KEYS[1], new, 'EX', math.ceil(reset))
end
return { cost, remaining, tostring(-1), tostring(reset) }`

func yardsticks(t testing.TB, s *server) []contender {
	t.Helper()
	ctx := context.Background()
	one := s.client.ScriptLoad(ctx, "return 1").Val()
	rate := s.client.ScriptLoad(ctx, gcra).Val()
	return []contender{
		{"return 1", func() error { return s.client.EvalSha(ctx, one, []string{"k"}).Err() }},
		{"gcra", func() error {
			return s.client.EvalSha(ctx, rate, []string{"rate:k"}, 1_000_000_000, 1_000_000_000, 86400, 1).Err()
		}},
	}
}

// An ask of several pools, each with a day and a sliding window.
func benchAsk(account string, amount, limit int64, pools ...string) quota.Ask {
	now := time.Now()
	a := quota.Ask{Account: account, Midnights: quota.Midnights(now, time.UTC), Grace: 30 * time.Second, Horizon: 26 * time.Hour, Now: now,
		Who: quota.Who{Purpose: quota.Scheduled, Region: "US", Method: "videos.list"}}
	for _, p := range pools {
		a.Charges = append(a.Charges, quota.Charge{Pool: p, Amount: amount, Bounds: []quota.Bound{
			{Window: quota.Window{Name: "24h", Length: 24 * time.Hour, Limit: limit}, Ceiling: limit},
			{Window: quota.Window{Name: "day", Limit: limit}, Ceiling: limit},
		}})
	}
	return a
}

// Takes are measured by the server's own clock and shown as multiples of the emptiest script.
func BenchmarkTake(b *testing.B) {
	s := redisServer(b)
	l := openLedger(b, s.url(), redisledger.Options{Timeout: patient})
	used(b, l, "used", 10_000, 1, quota.MaxLimit)
	compare(b, s, append(yardsticks(b, s),
		plain(b, l, "cost=1", benchAsk("one", 1, quota.MaxLimit, "units"), true),
		plain(b, l, "cost=100", benchAsk("hundred", 100, quota.MaxLimit, "units"), true),
		plain(b, l, "used=10000", benchAsk("used", 1, quota.MaxLimit, "units"), true),
		plain(b, l, "pools=3", benchAsk("three", 1, quota.MaxLimit, "units", "search", "other"), true),
		numbered(b, l, "numbered", "units"),
		numbered(b, l, "numbered,pools=3", "units", "search", "other"),
	))
}

// BenchmarkRefusal measures an ask that writes nothing.
func BenchmarkRefusal(b *testing.B) {
	s := redisServer(b)
	l := openLedger(b, s.url(), redisledger.Options{Timeout: patient})
	used(b, l, "used", 10_000, 1, quota.MaxLimit)
	used(b, l, "full", 10_000, 1, 10_000)
	used(b, l, "hundreds", 100, 100, 10_000)
	compare(b, s, append(yardsticks(b, s),
		plain(b, l, "cost=1", benchAsk("one", 1, quota.MaxLimit, "units"), true),
		plain(b, l, "refused", benchAsk("full", 1, 10_000, "units"), false),
		plain(b, l, "refused,cost=100", benchAsk("full", 100, 10_000, "units"), false),
		plain(b, l, "refused,of=hundreds", benchAsk("hundreds", 100, 10_000, "units"), false),
		plain(b, l, "peek", benchAsk("used", 0, quota.MaxLimit, "units"), true),
	))
}

// BenchmarkShared is a take as several hosts make it: the operation is written to this host's journal, in memory where
// there is room, before Redis is asked.
func BenchmarkShared(b *testing.B) {
	s := redisServer(b)
	dir := b.TempDir()
	if memory, err := os.MkdirTemp("/dev/shm", "journal"); err == nil { //nolint:usetesting // b.TempDir may be on a disk
		dir = memory
		b.Cleanup(func() { _ = os.RemoveAll(memory) })
	}
	journal, err := sqliteledger.Open(b.Context(), filepath.Join(dir, "quota.db"))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = journal.Close() })
	tariff := &quota.Tariff{Zone: time.UTC, Grace: 30 * time.Second, Failure: quota.Failure{SyncWait: time.Minute}, Pools: []quota.Pool{{Name: "units"}}}
	l, err := sharedledger.Open(tariff, openLedger(b, s.url(), redisledger.Options{Timeout: patient}), journal, 1)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = l.Close() })
	for b.Loop() {
		if d, err := l.Take(b.Context(), benchAsk("default", 1, quota.MaxLimit, "units")); err != nil || !d.Allowed {
			b.Fatal(d, err)
		}
	}
}

func compare(b *testing.B, s *server, contenders []contender) {
	b.Helper()
	for b.Loop() {
		times := serverTimes(b, s, contenders)
		for _, c := range contenders { // go test shows no more than ten lines
			b.Logf("%-22s %6.2f us  %5.2f x gcra  %5.2f x a take", c.name, times[c.name], times[c.name]/times["gcra"], times[c.name]/times["cost=1"])
		}
	}
}

// used takes n times of one pool.
func used(b *testing.B, l *redisledger.Ledger, account string, n int, amount, limit int64) {
	b.Helper()
	for range n {
		if _, err := l.Take(b.Context(), benchAsk(account, amount, limit, "units")); err != nil {
			b.Fatal(err)
		}
	}
}

func plain(b *testing.B, l *redisledger.Ledger, name string, a quota.Ask, allowed bool) contender {
	b.Helper()
	return contender{name, func() error {
		d, err := l.Take(b.Context(), a)
		if err == nil && d.Allowed != allowed {
			return fmt.Errorf("allowed is %t: %v", d.Allowed, d)
		}
		return err
	}}
}

// numbered is a take of one unit of each pool under the next number.
func numbered(b *testing.B, l *redisledger.Ledger, name string, pools ...string) contender {
	b.Helper()
	a := benchAsk(fmt.Sprint("numbered-", len(pools)), 1, quota.MaxLimit, pools...)
	op := sharedledger.Operation{Generation: 1, Writer: "1234567890abcdefghijklmnop", Nonce: 1 << 50}
	if g, err := l.Renew(b.Context(), sharedledger.Renewal{Account: a.Account, Next: op.Generation, First: true, Horizon: a.Horizon}); err != nil ||
		g != op.Generation {
		b.Fatal(g, err)
	}
	return contender{name, func() error {
		op.Written = op.Number
		op.Number++
		d, err := l.TakeOnce(b.Context(), a, op)
		if err == nil && !d.Allowed {
			return fmt.Errorf("refused: %v", d)
		}
		return err
	}}
}
