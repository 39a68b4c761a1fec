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
// at the calls. It paces the schedule by them, unless others is nil. s is nil if there is no store yet. What cannot be
// read is an error among the facts.
func Read(ctx context.Context, f Facts, schedule budget.PricedSchedule, l Ledger, s Store, others Others) Facts {
	f.Pace.Schedule = schedule.Jobs
	if s != nil {
		if f.Latest, f.StoreErr = s.Latest(ctx); f.StoreErr != nil {
			return f
		}
		var calls ingest.CallStats
		if calls, f.StoreErr = s.CallStats(ctx); f.StoreErr == nil {
			f.Contact = new(calls.Contact())
		}
	}
	f.Report, f.LedgerErr = l.Report(ctx)
	switch {
	case f.LedgerErr != nil:
	case others != nil && s != nil:
		expected, words := others.Expect(ctx, f.Report)
		f.Pace = schedule.Pace(expected, f.Latest.Known(), f.Now)
		f.Pace.Others = words
	default:
		f.Pace = schedule.Held(f.Report, f.Now)
	}
	return f
}
