package redisledger_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/trendvidstream/ingest/quota"
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
