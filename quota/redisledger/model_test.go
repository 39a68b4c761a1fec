package redisledger_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/memledger"
	"github.com/trendvidstream/ingest/quota/redisledger"
)

// clock is a ledger's clock under the test's hand, in a key of the server.
type clock struct {
	t   testing.TB
	s   *server
	key string
	now time.Time
}

func (c *clock) set(now time.Time) {
	c.now = now.UTC().Truncate(time.Microsecond)
	if err := c.s.client.Set(context.Background(), c.key, now.UnixMicro(), 0).Err(); err != nil {
		c.t.Fatal(err)
	}
}

// moved opens a ledger on the server whose clock the test moves.
func moved(t testing.TB, s *server) (*redisledger.Ledger, *clock) {
	t.Helper()
	c := &clock{t: t, s: s, key: "clock"}
	c.set(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
	l, err := redisledger.OpenWithClock(s.url(), redisledger.Options{Timeout: patient}, c.key)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l, c
}

// Every answer is that of the ledger in memory, whose decisions quota.Decide makes.
func TestAnswersAsTheLedgerInMemory(t *testing.T) { answersAsInMemory(t, 4_000) }

func TestLongAnswersAsTheLedgerInMemory(t *testing.T) { answersAsInMemory(t, 40_000) }

func answersAsInMemory(t *testing.T, steps int) {
	t.Helper()
	s := redisServer(t)
	l, c := moved(t, s)
	zone, err := time.LoadLocation("America/Los_Angeles")
	if err != nil {
		t.Fatal(err)
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	m := &memledger.Ledger{Now: func() time.Time { return c.now }}
	starts := []time.Time{time.Date(2026, 10, 31, 20, 0, 0, 0, zone), time.Date(2027, 3, 13, 20, 0, 0, 0, zone), time.Date(2026, 6, 1, 0, 0, 0, 0, zone)}
	var taken [][2]quota.Decision // by each ledger, whose entries have numbers of their own
	var instants []time.Time      // at which something changes
	account := ""
	precision := time.Duration(0)
	counts := map[string]int{}
	for step := range steps {
		if step%250 == 0 {
			account = fmt.Sprintf("account-%d", step)
			c.set(starts[r.IntN(len(starts))])
			taken, instants = nil, nil
			precision = []time.Duration{0, 0, 7 * time.Second, time.Minute}[r.IntN(4)]
		}
		switch r.IntN(12) {
		case 0:
			c.set(c.now.Add(time.Duration(r.Int64N(int64([]time.Duration{12, 12, 12, 60}[r.IntN(4)] * time.Hour)))))
		case 1, 2:
			c.set(c.now.Add(time.Duration(r.Int64N(int64(time.Minute)))))
		case 3, 4, 5:
			c.set(c.now.Add(time.Duration(r.Int64N(int64(3 * time.Second)))))
		case 6, 7:
			// To the very instant at which something changes, or just before it.
			if len(instants) > 0 {
				at := instants[r.IntN(len(instants))].Add(-time.Duration(r.IntN(2)) * time.Microsecond)
				if at.After(c.now) {
					c.set(at)
				}
			}
		case 8:
			c.set(c.now.Add(-time.Duration(r.Int64N(int64(10 * time.Second)))))
		}
		a := randomAsk(r, account, c.now, zone)
		a.Precision = precision
		var what string
		var want, got any
		switch n := r.IntN(100); {
		case n < 80 || len(taken) == 0:
			wd, we := m.Take(t.Context(), a)
			gd, ge := l.Take(t.Context(), a)
			if wd.Allowed && we == nil && ge == nil {
				taken = append(taken, [2]quota.Decision{wd, gd})
			}
			instants = append(instants[max(0, len(instants)-10):], wd.RetryAt, a.Midnights[2].Add(-a.Grace), a.Midnights[2].Add(a.Grace))
			for _, p := range wd.Pools {
				for _, w := range p.Windows {
					instants = append(instants, w.FreesAt)
				}
			}
			what, want, got = "take", outcome(wd, we), outcome(gd, ge)
			counts[fmt.Sprintf("take %t %t", wd.Allowed, we == nil)]++
		case n < 88:
			d := taken[max(0, len(taken)-1-r.IntN(min(len(taken), 5)))]
			we, ge := m.Refund(t.Context(), account, d[0]), l.Refund(t.Context(), account, d[1])
			what, want, got = "refund", outcome(quota.Decision{}, we), outcome(quota.Decision{}, ge)
			counts[fmt.Sprintf("refund %t", we == nil)]++
		case n < 94:
			at := c.now.Add(time.Minute - time.Duration(r.Int64N(int64(30*time.Hour))))
			switch r.IntN(5) {
			case 0:
				at = taken[r.IntN(len(taken))][0].At
			case 1:
				at = c.now.Add(time.Duration(r.IntN(3)-1) * time.Second)
			case 2:
				at = c.now.Add(-26*time.Hour + time.Duration(r.IntN(3)-1)*time.Microsecond)
			}
			we, ge := m.Post(t.Context(), a, at), l.Post(t.Context(), a, at)
			what, want, got = "post", outcome(quota.Decision{}, we), outcome(quota.Decision{}, ge)
		case n < 96:
			until := c.now.Add(time.Duration(r.Int64N(int64(2 * time.Hour))))
			if r.IntN(2) == 0 {
				until = time.Time{}
			}
			until = until.Truncate(time.Microsecond)
			we, ge := m.Drain(t.Context(), account, a.Charges[0].Pool, quota.Drain{Until: until, Used: 7}), l.Drain(t.Context(), account, a.Charges[0].Pool, quota.Drain{Until: until, Used: 7})
			what, want, got = "drain", outcome(quota.Decision{}, we), outcome(quota.Decision{}, ge)
		default:
			since := c.now.Add(-time.Duration(r.Int64N(int64(24 * time.Hour))))
			if r.IntN(2) == 0 {
				since = taken[len(taken)-1-r.IntN(min(len(taken), 5))][0].At
			}
			if oldest := c.now.Add(-25 * time.Hour); since.Before(oldest) {
				since = oldest // what is beyond the horizon may be there still, or not
			}
			ws, we := m.Spent(t.Context(), account, since)
			gs, ge := l.Spent(t.Context(), account, since)
			what, want, got = "spent", []any{ws, we}, []any{gs, ge}
		}
		if !reflect.DeepEqual(want, got) {
			t.Fatalf("seed %d step %d: %s of %+v:\nwant %+v\ngot  %+v", seed, step, what, a, want, got)
		}
	}
	t.Log(counts)
}

// outcome is a decision without the numbers of its entries, and the kind of its error.
func outcome(d quota.Decision, err error) any {
	d.Pools = slices.Clone(d.Pools)
	for i := range d.Pools {
		d.Pools[i].Entry, d.Pools[i].Entries = 0, 0
	}
	for _, kind := range []error{quota.ErrUnknown, quota.ErrNeverFits, quota.ErrUnavailable, quota.ErrCorrupt, quota.ErrNotRefundable} {
		if errors.Is(err, kind) {
			return kind
		}
	}
	if err != nil {
		return err
	}
	return d
}

func randomAsk(r *rand.Rand, account string, now time.Time, zone *time.Location) quota.Ask {
	a := quota.Ask{Account: account, Midnights: quota.Midnights(now, zone), Horizon: 26 * time.Hour,
		Grace: []time.Duration{0, 30 * time.Second}[r.IntN(2)],
		Who:   quota.Who{Purpose: quota.Purposes()[r.IntN(4)], Region: []string{"", "US", "GB"}[r.IntN(3)], Method: "videos.list"},
	}
	for _, i := range r.Perm(3)[:1+r.IntN(3)] {
		share := []int64{70, 95, 100}[r.IntN(3)]
		bound := func(name string, length time.Duration, limit int64) quota.Bound {
			return quota.Bound{Window: quota.Window{Name: name, Length: length, Limit: limit}, Ceiling: limit * share / 100}
		}
		c := quota.Charge{Pool: []string{"units", "search", "burst"}[i], Amount: []int64{1, 1, 1, 5, 50, 0}[r.IntN(6)]}
		switch c.Pool {
		case "units":
			c.Bounds = []quota.Bound{bound("24h", 24*time.Hour, 200), bound("day", 0, 200)}
		case "search":
			c.Bounds = []quota.Bound{bound("day", 0, 100), bound("1h", time.Hour, 80), bound("10s", 10*time.Second, 75)}
		default:
			c.Bounds = []quota.Bound{bound("10s", 10*time.Second, 80)}
		}
		a.Charges = append(a.Charges, c)
	}
	return a
}
