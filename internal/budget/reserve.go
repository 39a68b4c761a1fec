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

// pastSlots is how many of a job's newest done slots are averaged to find a slot's cost.
const pastSlots = 24

// Slots finds the slots of a job.
type Slots interface {
	// NewestDone returns the job's n newest done slots.
	NewestDone(ctx context.Context, job string, n int) ([]ingest.Slot, error)
	// DueSince returns the job's slots that were due at since or later.
	DueSince(ctx context.Context, job string, since time.Time) ([]ingest.Slot, error)
}

// NoSlots is an empty store, to price a schedule where no store is open.
type NoSlots struct{}

// NewestDone returns none.
func (NoSlots) NewestDone(context.Context, string, int) ([]ingest.Slot, error) { return nil, nil }

// DueSince returns none.
func (NoSlots) DueSince(context.Context, string, time.Time) ([]ingest.Slot, error) { return nil, nil }

// Reserve adds up the most that the schedule may need: for the slots still to come before the provider's midnight and
// the due ones that are not done, and in any whole sliding window. Each costs
// the average of its job's recent slots or, if none is done yet, its price. Nothing is reserved for a refresh: like a
// backfill, it leaves enough for other jobs.
func (s PricedSchedule) Reserve(ctx context.Context, slots Slots, now time.Time) (quota.Reserve, error) {
	r := quota.Reserve{Today: quota.Cost{}, Whole: map[string]map[string]int64{}}
	_, r.Until = providerDay(now, s.Tariff.Zone)
	for _, schedule := range s.Jobs {
		if schedule.Job.Kind == ingest.KindRefresh {
			continue
		}
		each, err := s.slotCost(ctx, slots, schedule.Job)
		open := 0
		if err == nil {
			open, err = countUnfinished(ctx, slots, schedule, now)
		}
		if err != nil {
			return r, fmt.Errorf("find the schedule's remaining need: %w", err)
		}
		// one at midnight is the next day's
		r.Today.Add(each, int64(open+len(schedule.Between(now, r.Until.Add(-time.Second)))))
		s.reserveWindows(r.Whole, each, schedule, now)
	}
	return r, nil
}

// lateRun is how late a slot may be fetched: it then leaves a sliding window that much later too.
const lateRun = 15 * time.Minute

// reserveWindows adds a job's use in a whole sliding window, at each per slot, allowing for late slots. It counts
// from the job's next slot, since no window of that length has more slots.
func (s PricedSchedule) reserveWindows(whole map[string]map[string]int64, each quota.Cost,
	schedule regions.JobSchedule, now time.Time) {
	from := schedule.Next(now).Add(-time.Second)
	for _, pool := range s.Tariff.Pools {
		if whole[pool.Name] == nil {
			whole[pool.Name] = map[string]int64{}
		}
		for _, w := range pool.Windows {
			if each[pool.Name] > 0 && !w.Day() {
				slots := schedule.Between(from, from.Add(w.Length+s.Tariff.Grace+lateRun))
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
	divisor := int64(len(done)) * max(page.MaxCharge(), 1) // units count the most expensive pool of each call
	return page.Times((units + divisor - 1) / divisor), nil
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
