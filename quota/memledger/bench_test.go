package memledger_test

import (
	"testing"
	"time"

	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/memledger"
)

// BenchmarkTake is a take of one unit from two windows.
func BenchmarkTake(b *testing.B) {
	for _, c := range []struct {
		name          string
		used          int
		limit, amount int64
	}{
		{"empty", 0, quota.MaxLimit, 1},
		{"10000 used", 10_000, quota.MaxLimit, 1},
		{"refused at 10000", 10_000, 10_000, 100},
		{"look at 10000", 10_000, quota.MaxLimit, 0},
	} {
		b.Run(c.name, func(b *testing.B) {
			now := time.Now()
			l := &memledger.Ledger{Now: func() time.Time { now = now.Add(time.Microsecond); return now }}
			a := quota.Ask{
				Account: "default", Who: quota.Who{Purpose: quota.Scheduled, Region: "US", Method: "videos.list"},
				Midnights: quota.Midnights(now, time.UTC), Horizon: quota.MinHorizon,
				Charges: []quota.Charge{{Pool: "units", Amount: 1, Bounds: []quota.Bound{
					{Window: quota.Window{Name: "24h", Length: 24 * time.Hour, Limit: c.limit}, Ceiling: c.limit},
					{Window: quota.Window{Name: "day", Limit: c.limit}, Ceiling: c.limit},
				}}},
			}
			for range c.used {
				if _, err := l.Take(b.Context(), a); err != nil {
					b.Fatal(err)
				}
			}
			a.Charges[0].Amount = c.amount
			for b.Loop() {
				if _, err := l.Take(b.Context(), a); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
