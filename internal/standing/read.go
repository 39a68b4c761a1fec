package standing

import (
	"context"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/internal/budget"
	"github.com/trendvidstream/ingest/quota"
)

// Ledger answers how much is left.
type Ledger interface {
	Report(ctx context.Context) (quota.Report, error)
}

// Store has the slots and the calls.
type Store interface {
	Latest(ctx context.Context) (ingest.Latest, error)
	CallStats(ctx context.Context) (ingest.CallStats, error)
}

// Others expects what is spent outside the schedule: a budget.OthersWatch.
type Others interface {
	Expect(ctx context.Context, r quota.Report) (quota.Report, string)
}

// Read adds to the facts of a moment what the ledger and the store know of it: one report, one look at the slots, one
// at the calls; then the pace, unless others is nil, and the forecast. s is nil if there is no store, or if the facts say
// why it cannot be read. What cannot be read is an error among the facts; the error returned is one of the tariff, which
// lacks a price.
func Read(ctx context.Context, f Facts, schedule budget.PricedSchedule, l Ledger, s Store, others Others) (Facts, error) {
	f.Pace.Schedule = schedule.Jobs
	if s != nil {
		f.Latest, f.StoreErr = s.Latest(ctx)
	}
	if s != nil && f.StoreErr == nil {
		if f.Calls, f.StoreErr = s.CallStats(ctx); f.StoreErr == nil {
			f.Contact = new(f.Calls.Contact())
		}
	}
	f.Report, f.LedgerErr = l.Report(ctx)
	if f.LedgerErr != nil {
		return f, nil //nolint:nilerr // it is among the facts
	}
	var waiting map[ingest.Series]ingest.Slot
	if s == nil || f.StoreErr != nil || others == nil {
		f.Pace = schedule.Held(f.Report, f.Now)
	} else {
		expected, words := others.Expect(ctx, f.Report)
		f.Pace = schedule.Pace(expected, f.Latest.Known(), f.Now)
		f.Pace.Others = words
	}
	if s != nil && f.StoreErr == nil {
		waiting = f.Pace.Schedule.Waiting(f.Latest, f.Now)
	}
	var err error
	f.Forecast, err = schedule.Forecast(f.Report, f.Pace, waiting, f.Now)
	if err == nil && f.StoreErr == nil {
		if f.Next, err = schedule.NextAt(f.Pace, f.Latest, f.Now, f.Forecast.Until); err == nil {
			schedule.Foresee(&f.Forecast, f.Pace, f.Next, f.Now)
		}
	}
	return f, err
}
