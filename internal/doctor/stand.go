package doctor

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/internal/budget"
	"github.com/trendvidstream/ingest/internal/standing"
	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/regions"
	"github.com/trendvidstream/ingest/store"
)

// examined is the store as a standing reads it.
type examined struct {
	*store.Store
	now time.Time
}

func (e examined) Latest(ctx context.Context) (ingest.Latest, error) {
	return e.Store.Latest(ctx, e.now)
}

// stand returns the standing that several checks print, which is read once.
func stand(ctx context.Context, d *Doctor) (*standing.Standing, error) {
	d.standing.once.Do(func() { d.standing.is, d.standing.err = readStanding(ctx, d) })
	return &d.standing.is, d.standing.err
}

// readStanding reads the standing. A store or a ledger that cannot be read is in it; an error comes from the config.
func readStanding(ctx context.Context, d *Doctor) (standing.Standing, error) {
	jobs, err := d.Schedule()
	if err != nil {
		return standing.Standing{}, err
	}
	f := standing.Facts{Now: d.now(), StaleAfter: cmp.Or(d.Config.StaleAfter, regions.DefaultStaleAfter),
		Provider: d.Provider, Pace: budget.PacedSchedule{Schedule: jobs}}
	schedule, unpriced := d.PricedSchedule()
	if f.LedgerErr = unpriced; unpriced == nil {
		f.Report, f.LedgerErr = ledgerReport(ctx, d)
	}
	if err := f.LedgerErr; errors.Is(err, quota.ErrUnavailable) ||
		errors.Is(err, quota.ErrCorrupt) && d.OpenRemote != nil {
		f.Report.Degraded, f.LedgerErr = err, nil
		f.Report.EmergencyLeft, _ = emergencyLeft(ctx, d)
	}
	foresee := func(others standing.Others) {
		if unpriced == nil {
			_ = f.Foresee(ctx, schedule, others) // costs reports a price that is missing
		}
	}
	f.StoreErr = d.inspect(ctx, func(s *store.Store) error {
		s.SetHooks(d.Config.HookEvents())
		if f.ReadStore(ctx, examined{s, f.Now}); f.StoreErr == nil && d.Config.Pacing {
			foresee(budget.OthersWatch{Notes: s, Schedule: schedule, Shared: d.OpenRemote != nil})
		}
		return f.StoreErr
	})
	if f.StoreErr != nil || !d.Config.Pacing {
		foresee(nil)
	}
	return standing.At(f), nil
}
