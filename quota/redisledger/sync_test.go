package redisledger_test

import (
	"context"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/redisledger"
	"github.com/trendvidstream/ingest/quota/sharedledger"
)

// shared begins a generation of an account.
func shared(t testing.TB, l sharedledger.Remote, account string, next sharedledger.Generation) {
	t.Helper()
	g, err := l.Renew(context.Background(), sharedledger.Renewal{Account: account, Pools: []string{"units", "search"}, Next: next, First: true, Horizon: quota.MinHorizon})
	if err != nil || g != next {
		t.Fatalf("generation %d, %v, want %v", g, err, next)
	}
}

// syncs is whether it syncs.
func syncs(ctx context.Context, l sharedledger.Remote, d sharedledger.Batch) error {
	_, err := l.Sync(ctx, d)
	return err
}

// rows are n of one unit, of writers of ten each, from a time on, a step apart.
func rows(account, writer string, n int, from time.Time, step time.Duration) []sharedledger.Row {
	all := make([]sharedledger.Row, n)
	for i := range all {
		all[i] = sharedledger.Row{Account: account, Writer: fmt.Sprint(writer, i/10), Number: int64(i%10 + 1), Nonce: 7, At: from.Add(time.Duration(i) * step),
			Who:     quota.Who{Purpose: quota.Scheduled, Region: []string{"US", "GB", "DE"}[i%3], Method: "videos.list"},
			Amounts: quota.Cost{"units": 1}, State: sharedledger.RowCharged}
	}
	return all
}

// milliseconds is the server's own time for the scripts of do.
func milliseconds(t testing.TB, s *server, do func()) float64 {
	t.Helper()
	s.client.ConfigResetStat(context.Background())
	do()
	m := evalsha.FindStringSubmatch(s.client.Info(context.Background(), "commandstats").Val())
	us, _ := strconv.ParseFloat(m[2], 64)
	return us / 1000
}

const fullDay = 10_000 // rows

// A day of rows is synced without delaying other callers, also in between another day of them: the time grows with
// their number, not with its square.
func TestSyncOfAFullDayIsShort(t *testing.T) {
	s := redisServer(t)
	l := openLedger(t, s.url(), redisledger.Options{Timeout: patient})
	now := time.Now()
	syncRows := func(account string, rows []sharedledger.Row) (server float64, whole time.Duration) {
		began := time.Now()
		server = milliseconds(t, s, func() {
			if _, err := l.Sync(t.Context(), sharedledger.Batch{Account: account, Generation: 1, Horizon: quota.MinHorizon, Rows: rows}); err != nil {
				t.Fatal(err)
			}
		})
		return server, time.Since(began)
	}
	step := 20 * time.Hour / fullDay
	best := map[string]float64{}
	for i := range 5 {
		account := fmt.Sprint("full-", i)
		shared(t, l, account, 1)
		note := func(name string, ms float64, whole time.Duration) {
			if best[name] == 0 || ms < best[name] {
				best[name] = ms
			}
			t.Logf("%s: %.1f ms on the server, %v in all", name, ms, whole)
		}
		ms, whole := syncRows(account, rows(account, "a", fullDay, now.Add(-20*time.Hour), step))
		note("empty", ms, whole)
		ms, whole = syncRows(account, rows(account, "b", fullDay, now.Add(-20*time.Hour+step/2), step))
		note("between 10,000 others", ms, whole)
		ms, whole = syncRows(account, rows(account, "b", fullDay, now.Add(-20*time.Hour+step/2), step))
		note("again", ms, whole)
		small := fmt.Sprint("small-", i)
		shared(t, l, small, 1)
		ms, whole = syncRows(small, rows(small, "a", fullDay/10, now.Add(-20*time.Hour), 10*step))
		note("a tenth", ms, whole)
		ms, whole = syncRows(small, rows(small, "b", fullDay/10, now.Add(-20*time.Hour+step/2), 10*step))
		note("a tenth between others", ms, whole)
		if n := s.client.LLen(t.Context(), "ingest:{"+account+"}:units").Val(); n != 2*fullDay {
			t.Fatalf("%d entries", n)
		}
	}
	if best["empty"] > 1000 || best["between 10,000 others"] > 60*best["a tenth between others"] { // on a busy machine; a square would be 100
		t.Errorf("%v, want times that grow with the number of rows", best)
	}
}

// The greatest sizes of a sync's parts: every row of a writer of its own, hundreds of pools.
func TestSyncOfManyWritersAndPools(t *testing.T) {
	s := redisServer(t)
	l := openLedger(t, s.url(), redisledger.Options{Timeout: patient})
	shared(t, l, "a", 1)
	d := sharedledger.Batch{Account: "a", Generation: 1, Horizon: quota.MinHorizon}
	for i := range fullDay {
		row := rows("a", "w", 1, time.Now().Add(-time.Hour), 0)[0]
		row.Writer = fmt.Sprint("w", i)
		row.Who.Method = fmt.Sprint("method ", i)
		row.Amounts = quota.Cost{fmt.Sprint("pool ", i%200): 2, "units": 1}
		d.Rows = append(d.Rows, row)
	}
	for range 2 {
		if _, err := l.Sync(t.Context(), d); err != nil {
			t.Fatal(err)
		}
		sums := map[string]int64{}
		spent, err := l.Spent(t.Context(), "a", time.Now().Add(-2*time.Hour), 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range spent {
			sums[s.Pool] += s.Amount
		}
		if len(spent) != 2*fullDay || len(sums) != 201 || sums["units"] != fullDay || sums["pool 7"] != 100 {
			t.Fatalf("%d sums of %d pools, %d units", len(spent), len(sums), sums["units"])
		}
	}
	names := make([]string, fullDay)
	for i := range names {
		names[i] = fmt.Sprint("w", i)
	}
	if state, err := l.State(t.Context(), "a", names); err != nil || len(state.Written) != fullDay {
		t.Errorf("%d writers, %v, want %v", len(state.Written), err, fullDay)
	}
}

func TestRefusesHostileBatches(t *testing.T) {
	s := redisServer(t)
	l := openLedger(t, s.url(), redisledger.Options{})
	shared(t, l, "a", 1)
	before := dump(t, s)
	for name, change := range map[string]func(*sharedledger.Batch){
		"an account with braces": func(d *sharedledger.Batch) { d.Account = "{x}" },
		"too many rows":          func(d *sharedledger.Batch) { d.Rows = make([]sharedledger.Row, sharedledger.MaxRows+1) },
		"too many writers": func(d *sharedledger.Batch) {
			d.Rows = rows("a", "w", 10*sharedledger.MaxWriters, time.Now(), 0)
			d.Rows = append(d.Rows, rows("a", "oneTooMany", 1, time.Now(), 0)...)
		},
		"a writer without a name":      func(d *sharedledger.Batch) { d.Rows[0].Writer = "" },
		"a writer with a space":        func(d *sharedledger.Batch) { d.Rows[0].Writer = "a b" },
		"a writer of 33 letters":       func(d *sharedledger.Batch) { d.Rows[0].Writer = fmt.Sprintf("%033d", 0) },
		"number 0":                     func(d *sharedledger.Batch) { d.Rows[0].Number = 0 },
		"a number beyond exactness":    func(d *sharedledger.Batch) { d.Rows[0].Number = 1 << 53 },
		"a negative nonce":             func(d *sharedledger.Batch) { d.Rows[0].Nonce = -1 },
		"a negative amount":            func(d *sharedledger.Batch) { d.Rows[0].Amounts["units"] = -1 },
		"an overflowing amount":        func(d *sharedledger.Batch) { d.Rows[0].Amounts["units"] = 1 << 60 },
		"a pool without a name":        func(d *sharedledger.Batch) { d.Rows[0].Amounts[""] = 1 },
		"a negative horizon":           func(d *sharedledger.Batch) { d.Horizon = -1 },
		"a snapshot of no pool":        func(d *sharedledger.Batch) { d.Snapshots[0].Pool = "" },
		"a snapshot of less than none": func(d *sharedledger.Batch) { d.Snapshots[0].Windows[0].Used = -1 },
		"a snapshot of overflow":       func(d *sharedledger.Batch) { d.Snapshots[0].Windows[0].Used = 1 << 60 },
		"a snapshot with 300 windows":  func(d *sharedledger.Batch) { d.Snapshots[0].Windows = make([]sharedledger.WindowUsage, 300) },
		"a host without an id":         func(d *sharedledger.Batch) { d.Host = &sharedledger.Host{Name: "x"} },
		"a sum beyond exactness": func(d *sharedledger.Batch) {
			d.Rows = rows("a", "w", fullDay, time.Now().Add(-time.Hour), 0)
			for i := range d.Rows {
				d.Rows[i].Amounts = quota.Cost{"units": quota.MaxLimit}
			}
		},
		"300 pools": func(d *sharedledger.Batch) {
			for i := range 300 {
				d.Rows[0].Amounts[fmt.Sprint(i)] = 1
			}
		},
	} {
		d := sharedledger.Batch{Account: "a", Generation: 1, Horizon: quota.MinHorizon, Rows: rows("a", "w", 2, time.Now(), 0),
			Snapshots: []sharedledger.UsageSnapshot{{Pool: "units", Generation: 1, At: time.Now(), Windows: []sharedledger.WindowUsage{{Used: 1}}}}}
		change(&d)
		if _, err := l.Sync(t.Context(), d); err == nil {
			t.Errorf("%s: synced, want an error", name)
		}
	}
	if after := dump(t, s); after != before {
		t.Errorf("it changed from\n%q to\n%q", before, after)
	}
}

// A sync's longer horizon lets the logs of the other pools live as long, too.
func TestSyncOfALongerHorizonKeepsAllLogs(t *testing.T) {
	s := redisServer(t)
	l := openLedger(t, s.url(), redisledger.Options{Timeout: patient})
	for _, how := range []string{"sync", "renew"} {
		shared(t, l, how, 1)
		take(t, l, benchAsk(how, 1, 100, "units", "search"))
		var err error
		if how == "sync" {
			_, err = l.Sync(t.Context(), sharedledger.Batch{Account: how, Generation: 1, Horizon: 100 * time.Hour, Rows: rows(how, "w", 1, time.Now(), 0)})
		} else {
			_, err = l.Renew(t.Context(), sharedledger.Renewal{Account: how, Was: 1, Next: 2, Horizon: 100 * time.Hour})
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, key := range []string{"", ":units", ":search"} {
			if ttl := s.client.PTTL(t.Context(), "ingest:{"+how+"}"+key).Val(); ttl < 101*time.Hour || ttl > 102*time.Hour+time.Second {
				t.Errorf("%s: %q lives for %v", how, key, ttl)
			}
		}
	}
}
