package budget

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/fetch"
	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/regions"
)

// pastSlots is how many of a job's newest done slots are averaged to find a slot's cost: a day of the default schedule.
const pastSlots = 8 * 48

// Slots finds the slots of a job. A store has them; where none is open, NoSlots has none.
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
// the due ones that are not done, and in any whole sliding window. Each costs the average of its job's recent slots or,
// if none is done yet, its price; a chart's retries need room, too. Nothing is reserved for a refresh: like a backfill,
// it leaves enough for other jobs.
func (s PricedSchedule) Reserve(ctx context.Context, slots Slots, now time.Time) (quota.Reserve, error) {
	r := quota.Reserve{Today: quota.Cost{}, Whole: map[string]map[string]int64{}}
	_, r.Until = providerDay(now, s.Tariff.Zone)
	room := quota.Cost{}
	for _, schedule := range s.Jobs {
		if schedule.Job.Kind == ingest.KindRefresh {
			continue
		}
		usual, err := s.usualCost(ctx, slots, schedule.Job)
		open := 0
		if err == nil {
			open, err = countUnfinished(ctx, slots, schedule, now)
		}
		if err != nil {
			return r, fmt.Errorf("find the schedule's remaining need: %w", err)
		}
		// one at midnight is of the next day
		r.Today.Add(usual.of(open+len(schedule.Between(now, r.Until.Add(-time.Second)))), 1)
		s.reserveWindows(r.Whole, usual, schedule, now)
		for pool, n := range usual.price {
			room[pool] = max(room[pool], retryRoom(schedule.Job, n))
		}
	}
	for pool, n := range room {
		if r.Today[pool] > 0 {
			r.Today[pool] += n
		}
	}
	return r, nil
}

// lateRun is how late a slot may be fetched: it then leaves a sliding window that much later too.
const lateRun = 15 * time.Minute

// reserveWindows adds a job's use in a whole sliding window, allowing for late slots. It counts from the job's next
// slot, since no window of that length has more slots.
func (s PricedSchedule) reserveWindows(whole map[string]map[string]int64, usual usualCost,
	schedule regions.JobSchedule, now time.Time) {
	from := schedule.Next(now).Add(-time.Second)
	for _, pool := range s.Tariff.Pools {
		if whole[pool.Name] == nil {
			whole[pool.Name] = map[string]int64{}
		}
		for _, w := range pool.Windows {
			if usual.price[pool.Name] > 0 && !w.Day() {
				slots := schedule.Between(from, from.Add(w.Length+s.Tariff.Grace+lateRun))
				whole[pool.Name][w.Name] += usual.of(len(slots))[pool.Name]
			}
		}
	}
}

// usualCost is the cost of a job's recent slots.
type usualCost struct {
	price, page quota.Cost // of a slot as configured, and of its dearest call
	slots       int        // the recent ones; 0: only the price is known
	calls       float64    // the charges of the recent slots, in dearest calls
	inVain      float64    // of them, a chart's charges without a page
}

// of returns the cost of several slots. Calls fail by chance: in two runs of a hundred they cost more.
func (u usualCost) of(slots int) quota.Cost {
	if u.slots == 0 {
		return u.price.Times(int64(slots))
	}
	n := float64(slots) / float64(u.slots)
	return u.page.Times(int64(math.Ceil(u.calls*n + 2*math.Sqrt(u.inVain*n))))
}

// usualCost returns the cost of the last slots of a job.
func (s PricedSchedule) usualCost(ctx context.Context, slots Slots, job ingest.Job) (usual usualCost, err error) {
	if usual.price, err = s.slotPrice(job); err != nil {
		return usual, err
	}
	if usual.page, err = s.pageCost(job); err != nil {
		return usual, err
	}
	done, err := slots.NewestDone(ctx, job.Name, pastSlots)
	for _, slot := range done {
		calls := float64(slot.Units) / float64(max(usual.page.MaxCharge(), 1)) // units count the dearest pool of each call
		usual.slots, usual.calls = usual.slots+1, usual.calls+calls
		if job.Kind == ingest.KindChart {
			usual.inVain += max(0, calls-float64(slot.Pages))
		}
	}
	return usual, err
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
