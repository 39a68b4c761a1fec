package budget

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/fetch"
	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/regions"
)

// pastSlots is how many of a job's newest done slots say what one of them costs.
const pastSlots = 24

// Reserve is what the schedule may still need before the provider's day ends, and in any whole sliding window.
type Reserve struct {
	quota.Reserve           // Used is quota.Governor.ScheduledUse, if the caller has asked for it
	Until         time.Time // the end of the provider's day
}

// Slots sums up the slots of a job.
type Slots interface {
	// NewestDone returns the newest n of the job's slots that are done.
	NewestDone(ctx context.Context, job string, n int) ([]ingest.Slot, error)
	// DueSince returns the job's slots that were due at since or later.
	DueSince(ctx context.Context, job string, since time.Time) ([]ingest.Slot, error)
}

// Reserve adds up the slots that are still to come before the provider's midnight, and those that are due and not
// done. Each counts what recent slots of its job cost or, if none is done yet, its price. Nothing is reserved for a
// refresh: it leaves the others what they need, as backfills do.
func (s PricedSchedule) Reserve(ctx context.Context, slots Slots, now time.Time) (Reserve, error) {
	r := Reserve{Reserve: quota.Reserve{Rest: quota.Cost{}, Whole: quota.PerWindow{}}}
	_, r.Until = providerDay(now, s.Tariff.Zone)
	for _, of := range s.Jobs {
		if of.Job.Kind == ingest.KindRefresh {
			continue
		}
		each, err := s.slotCost(ctx, slots, of.Job)
		open := 0
		if err == nil {
			open, err = countUnfinished(ctx, slots, of, now)
		}
		if err != nil {
			return r, fmt.Errorf("find what the schedule still needs: %w", err)
		}
		addCost(r.Rest, each, open+len(of.Between(now, r.Until.Add(-time.Second)))) // one at midnight is the next day's
		s.reserveWindows(r.Whole, each, of, now)
	}
	return r, nil
}

// lateRun is how late a slot may be fetched: it then leaves a sliding window as much later than the one after needs it.
const lateRun = 15 * time.Minute

// reserveWindows adds what a job uses in a whole sliding window, at each per slot, though its slots were late. It counts
// the window that begins with the job's next slot, since no window of that length has more.
func (s PricedSchedule) reserveWindows(whole quota.PerWindow, each quota.Cost, of regions.JobSchedule, now time.Time) {
	from := of.Next(now).Add(-time.Second)
	for _, pool := range s.Tariff.Pools {
		if whole[pool.Name] == nil {
			whole[pool.Name] = map[string]int64{}
		}
		for _, w := range pool.Windows {
			if each[pool.Name] > 0 && !w.Day() {
				slots := of.Between(from, from.Add(w.Length+s.Tariff.Grace+lateRun))
				whole[pool.Name][w.Name] += each[pool.Name] * int64(len(slots))
			}
		}
	}
}

// slotCost returns the mean cost of the last slots of a job, rounded up to whole pages.
func (s PricedSchedule) slotCost(ctx context.Context, slots Slots, job ingest.Job) (quota.Cost, error) {
	done, err := slots.NewestDone(ctx, job.Name, pastSlots)
	if err != nil {
		return nil, err
	}
	if len(done) == 0 {
		return s.slotPrice(job)
	}
	page, err := s.pageCost(job)
	if err != nil {
		return nil, err
	}
	units := int64(0)
	for _, slot := range done {
		units += slot.Units
	}
	of := int64(len(done)) * max(page.MaxCharge(), 1) // units count the most expensive pool of each call
	return page.Times((units + of - 1) / of), nil
}

// pageCost returns the cost of the call that a job's slots spend most on.
func (s PricedSchedule) pageCost(job ingest.Job) (quota.Cost, error) {
	calls, err := fetch.JobCalls(s.Upstream, job)
	if err != nil || calls.Page == "" {
		return quota.Cost{}, err
	}
	return s.Tariff.Cost(calls.Page)
}

// countUnfinished returns how many of the job's newest slots are due at now and have not ended for good.
func countUnfinished(ctx context.Context, slots Slots, s regions.JobSchedule, now time.Time) (int, error) {
	latest := s.Latest(now)
	if len(latest) == 0 {
		return 0, nil
	}
	known, err := slots.DueSince(ctx, s.Job.Name, latest[0].DueAt)
	for _, slot := range known {
		if slices.Contains([]ingest.State{ingest.Done, ingest.Failed, ingest.Skipped, ingest.Missed}, slot.State) {
			latest = slices.DeleteFunc(latest, func(k ingest.SlotKey) bool { return k == slot.SlotKey })
		}
	}
	return len(latest), err
}
