package standing

import (
	"context"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/internal/budget"
	"github.com/trendvidstream/ingest/quota"
)

// Store has the slots and the calls.
type Store interface {
	Latest(ctx context.Context) (ingest.Latest, error)
	CallStats(ctx context.Context) (ingest.CallStats, error)
}

// Others expects the spends outside the schedule: a budget.OthersWatch.
type Others interface {
	Expect(ctx context.Context, r quota.Report) budget.Expected
}

// ReadStore adds the store's slots and calls, each read once, or the error that keeps them from being read.
func (f *Facts) ReadStore(ctx context.Context, s Store) {
	if f.Latest, f.StoreErr = s.Latest(ctx); f.StoreErr == nil {
		if f.Calls, f.StoreErr = s.CallStats(ctx); f.StoreErr == nil {
			f.Contact = new(f.Calls.Contact())
		}
	}
}

// Foresee adds the pace, unless others is nil, and the forecast, both by the report among the facts. The error is one
// of the tariff, which lacks a price.
func (f *Facts) Foresee(ctx context.Context, schedule budget.PricedSchedule, others Others) (err error) {
	if f.LedgerErr != nil {
		f.Pace = budget.PacedSchedule{Schedule: schedule.Jobs}
		return nil //nolint:nilerr // it is among the facts
	}
	var waiting map[ingest.Series]ingest.Slot
	stored := f.Contact != nil && f.StoreErr == nil
	if stored && others != nil {
		expected := others.Expect(ctx, f.Report)
		schedule = schedule.With(expected)
		f.Pace = schedule.Pace(expected.Report, f.Latest.Known(), f.Now)
		f.Pace.Others, f.Pace.Refresh, f.Pace.SureUntil = expected.Others, expected.Refresh, expected.SureUntil
	} else {
		f.Pace = schedule.Held(f.Report, f.Now)
	}
	if stored {
		waiting = f.Pace.Schedule.Waiting(f.Latest, f.Now)
	}
	f.Forecast, err = schedule.Forecast(f.Report, f.Pace, waiting, f.Now)
	if err == nil && f.StoreErr == nil {
		if f.Next, err = schedule.NextAt(f.Pace, f.Latest, f.Now, f.Forecast.Until); err == nil {
			schedule.Foresee(&f.Forecast, f.Pace, f.Next, f.Now)
		}
	}
	return err
}
