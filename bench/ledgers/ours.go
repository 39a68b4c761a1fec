package main

import (
	"context"
	"fmt"
	"time"

	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/redisledger"
)

// plenty is a limit that no run reaches. Peers get the same.
const plenty = 1_000_000_000

// most is the highest cost measured: the usual limit of a day.
const most = 10_000

const day = 24 * time.Hour

func openOurs(ctx context.Context, url string) (*redisledger.Ledger, error) {
	return redisledger.Open(ctx, url, redisledger.Options{Timeout: 10 * time.Second}) // the machine may be busy
}

// ask is the ask of the program: each pool with 24 hours and the provider's day, a purpose, its ceiling, grace, and the
// spender.
func ask(account string, cost, units int64, pools ...string) quota.Ask {
	now := time.Now()
	a := quota.Ask{
		Account: account, Now: now, Midnights: quota.Midnights(now, time.UTC), Grace: 30 * time.Second, Horizon: quota.MinHorizon,
		Who: quota.Who{Purpose: quota.Scheduled, Region: "US", Method: "videos.list"},
	}
	for _, p := range pools {
		a.Charges = append(a.Charges, quota.Charge{Pool: p, Amount: cost, Bounds: []quota.Bound{
			{Window: quota.Window{Name: "24h", Length: day, Limit: units}, Ceiling: units},
			{Window: quota.Window{Name: "day", Limit: units}, Ceiling: units},
		}})
	}
	return a
}

// within asks for cost units of one window of any length, without grace.
func within(account string, cost int64, l limit) quota.Ask {
	return quota.Ask{Account: account, Now: time.Now(), Horizon: quota.MinHorizon,
		Who: quota.Who{Purpose: quota.Scheduled, Region: "US", Method: "videos.list"},
		Charges: []quota.Charge{{Pool: "units", Amount: cost, Bounds: []quota.Bound{
			{Window: quota.Window{Name: l.per.String(), Length: l.per, Limit: l.units}, Ceiling: l.units},
		}}}}
}

// taking adapts the ledger to the shape of a peer.
func taking(l quota.Ledger, a func(account string, cost int64) quota.Ask) take {
	return func(ctx context.Context, account string, cost int64) (bool, error) {
		d, err := l.Take(ctx, a(account, cost))
		return err == nil && d.Allowed, err
	}
}

// post writes n spends, the i-th of cost(i), spread evenly over the time from..to before now.
func post(ctx context.Context, l quota.Ledger, account string, n int, from, to time.Duration, cost func(i int) int64) error {
	start := time.Now()
	for i := range n {
		at := start.Add(-from + time.Duration(float64(from-to)*float64(i)/float64(n)))
		if err := l.Post(ctx, ask(account, cost(i), plenty, "units"), at); err != nil {
			return fmt.Errorf("post %d of %d: %w", i, n, err)
		}
	}
	return nil
}

func one(int) int64 { return 1 }
