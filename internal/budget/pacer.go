package budget

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/fetch"
	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/regions"
)

// Pacing is the schedule at its current pace, and the jobs that are paced.
type Pacing struct {
	regions.Paced
	Jobs []Pace
}

// String says how each job is paced and why; "" if none is. A job whose whole budget was spent by others has no pace:
// it waits until units come back.
func (p Pacing) String() string {
	var all []string
	for _, job := range p.Jobs {
		if job.Round > 0 {
			all = append(all, job.String())
		}
	}
	return strings.Join(all, "; ")
}

// Pacer finds the current pace.
type Pacer struct {
	Schedule Schedule
	Report   func(context.Context) (quota.Report, error) // of the ledger
	Off      bool                                        // nothing is paced
	// Moves returns what was new in the newest charts of a job, so that regions whose charts move faster come more
	// often. nil: all come equally often.
	Moves func(ctx context.Context, job string) ([]ingest.ChartMove, error)
}

// Now returns the pace at now; known is when the newest slot of each series was due. While the ledger cannot answer,
// nothing is paced: what then goes out is bounded in another way.
func (p Pacer) Now(ctx context.Context, known map[ingest.Series]time.Time, now time.Time) Pacing {
	out := Pacing{Paced: regions.Paced{Schedule: p.Schedule.Jobs}}
	if p.Off {
		return out
	}
	if r, err := p.Report(ctx); err == nil {
		out = p.Schedule.Pacing(r, known, now)
		p.setWeights(ctx, out.Jobs, out.Paces, known, now)
	}
	return out
}

// Next is like Schedule.Next, at the current pace: the slots of paced jobs hold as long as what is left of the budget
// stays what it is.
func (p Pacer) Next(ctx context.Context, known map[ingest.Series]time.Time, now, to time.Time) ([]PricedSlot, error) {
	next, err := p.Schedule.Next(now, to)
	pacing := p.Now(ctx, known, now)
	if err != nil || len(pacing.Jobs) == 0 {
		return next, err
	}
	next = slices.DeleteFunc(next, func(s PricedSlot) bool { _, paced := pacing.Paces[s.Job]; return paced })
	for _, of := range pacing.Jobs {
		job := of.Job
		job.Pages = of.Pages
		cost, err := p.Schedule.slotPrice(job)
		if err != nil {
			return nil, err
		}
		for _, slot := range pacing.Upcoming(known, now, int(to.Sub(now)/of.Gap)+1+len(next), "") {
			if slot.Job == job.Name && slot.DueAt.Before(to.Add(-of.Gap/2)) { // the one at the very end is the next day's
				next = append(next, PricedSlot{slot.SlotKey, cost})
			}
		}
	}
	slices.SortStableFunc(next, func(a, b PricedSlot) int { return a.DueAt.Compare(b.DueAt) })
	return next, nil
}

// Pacing returns the current pace if a ledger reports r; see Pacer.Now.
func (s Schedule) Pacing(r quota.Report, known map[ingest.Series]time.Time, now time.Time) Pacing {
	out := Pacing{Paced: regions.Paced{Schedule: s.Jobs}}
	if r.Degraded != nil {
		return out
	}
	var err error
	if out.Jobs, err = s.Paces(r, known, now); err != nil {
		return out // a method without a price: its first call says so
	}
	out.Paces = map[string]regions.Pace{}
	for _, job := range out.Jobs {
		out.Paces[job.Job.Name] = job.Pace
	}
	return out
}

// Pace implements fetch.Pacer.
func (p Pacer) Pace(ctx context.Context, known map[ingest.Series]time.Time, now time.Time) fetch.Paced {
	at := p.Now(ctx, known, now)
	out := fetch.Paced{Schedule: at.Paced, Pages: map[string]int{}}
	for _, job := range at.Jobs {
		out.Pages[job.Job.Name] = job.Pages
	}
	return out
}
