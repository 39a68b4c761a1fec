package main

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/fetch"
	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/regions"
	"github.com/trendvidstream/ingest/store"
)

const (
	// lookBack is how many of a job's newest done slots say what one of them costs.
	lookBack = 24
	// needHolds is how long a computed reserve is good for: it only falls, until the provider's day turns.
	needHolds = time.Minute
)

// reserve is what the schedule may still want before the provider's day ends.
type reserve struct {
	until time.Time
	cost  quota.Cost
}

// needed adds up the slots that are still to come before the provider's midnight, and those that are due
// and not done: each at what slots of its job cost of late, and where none was done yet, at its price in
// the plan. No slots need nothing.
func needed(ctx context.Context, slots *store.Store, plan regions.Plan, up fetch.Upstream, tariff *quota.Tariff, now time.Time) (reserve, error) {
	n := reserve{cost: quota.Cost{}}
	for _, midnight := range quota.Midnights(now, tariff.Zone) {
		if midnight.After(now) {
			n.until = midnight.UTC()
			break
		}
	}
	for i, s := range plan {
		if s.Job.Kind == ingest.KindRefresh {
			continue // it leaves what the others need, and nobody leaves anything for it
		}
		each, err := slotCost(ctx, slots, plan[i:i+1], up, tariff)
		if err != nil {
			return n, err
		}
		open, err := unfinished(ctx, slots, s, now)
		if err != nil {
			return n, err
		}
		add(n.cost, each, open+len(s.Between(now, n.until.Add(-time.Second)))) // one at midnight is the next day's
	}
	return n, nil
}

// slotCost is what one slot of the only job of a plan costs: the mean of the last ones that were done,
// rounded up to whole calls.
func slotCost(ctx context.Context, slots *store.Store, plan regions.Plan, up fetch.Upstream, tariff *quota.Tariff) (quota.Cost, error) {
	job := plan[0].Job
	done, err := slots.ListSlots(ctx, store.SlotFilter{Job: job.Name, State: ingest.Done, Limit: lookBack})
	if err != nil {
		return nil, err
	}
	if len(done) == 0 {
		return plannedCost(plan, up, tariff)
	}
	units := int64(0)
	for _, s := range done {
		units += s.Units
	}
	call, err := jobCall(job, up, tariff)
	if err != nil {
		return nil, err
	}
	of := int64(len(done)) * max(most(call), 1) // a slot counts the dearest pool of each call
	return call.Times((units + of - 1) / of), nil
}

// plannedCost is the price of one slot of the only job of a plan.
func plannedCost(plan regions.Plan, up fetch.Upstream, tariff *quota.Tariff) (quota.Cost, error) {
	next := plan[0].Next(time.Unix(0, 0))
	price, err := priceOf(plan, up, tariff, next.Add(-time.Second), next)
	if err != nil || len(price.jobs) == 0 || price.jobs[0].slots == 0 {
		return nil, err
	}
	one := quota.Cost{}
	for pool, amount := range price.jobs[0].cost {
		one[pool] = amount / int64(price.jobs[0].slots)
	}
	return one, nil
}

// jobCall is the call that a job's slots are made of, the dearest where there are several: the first that
// it is priced by.
func jobCall(job ingest.Job, up fetch.Upstream, tariff *quota.Tariff) (quota.Cost, error) {
	calls, err := fetch.JobCalls(up, job)
	if err != nil || calls.Page == "" {
		return quota.Cost{}, err
	}
	return tariff.Cost(calls.Page)
}

// unfinished is how many of the job's newest slots are due at now and have not ended for good.
func unfinished(ctx context.Context, slots *store.Store, s regions.Schedule, now time.Time) (int, error) {
	latest := s.Latest(now)
	if len(latest) == 0 {
		return 0, nil
	}
	known, err := slots.ListSlots(ctx, store.SlotFilter{Job: s.Job.Name, Since: latest[0].DueAt})
	if err != nil {
		return 0, err
	}
	ended := map[ingest.SlotKey]bool{}
	for _, slot := range known {
		ended[slot.SlotKey] = slices.Contains([]ingest.State{ingest.Done, ingest.Failed, ingest.Skipped, ingest.Missed}, slot.State)
	}
	open := 0
	for _, k := range latest {
		if !ended[k] {
			open++
		}
	}
	return open, nil
}

// keeper is what the takes of a backfill leave to the schedule, computed anew now and then. Safe for
// concurrent use.
type keeper struct {
	compute func(context.Context) (reserve, error)
	now     func() time.Time
	log     *slog.Logger

	mu   sync.Mutex
	at   time.Time
	last reserve
}

// keeper is for the program's own schedule.
func (a *app) keeper(ctx context.Context, w *fetchRuntime) (*keeper, error) {
	k := &keeper{now: a.clock.Now, log: a.log(), compute: func(ctx context.Context) (reserve, error) {
		return needed(ctx, w.store, w.plan, w.upstream, w.governor.Tariff, a.clock.Now())
	}}
	var err error
	k.at = k.now()
	if k.last, err = k.compute(ctx); err != nil {
		return nil, fmt.Errorf("find what the schedule still needs: %w", err)
	}
	return k, nil
}

// leaver is a keeper that is made when it is first asked: most runs refresh nothing.
func (w *fetchRuntime) leaver(a *app) func(context.Context) quota.Cost {
	var once sync.Once
	var k *keeper
	return func(ctx context.Context) quota.Cost {
		once.Do(func() {
			var err error
			if k, err = a.keeper(ctx, w); err != nil {
				a.log().WarnContext(ctx, "nothing is left for the schedule", slog.Any("error", err))
			}
		})
		if k == nil {
			return nil
		}
		return k.leave(ctx)
	}
}

// leave is what the next take leaves. Where the store cannot say, what it said last holds: that was more,
// but for a day that has turned since.
func (k *keeper) leave(ctx context.Context) quota.Cost {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := k.now()
	if age := now.Sub(k.at); age >= 0 && age < needHolds && now.Before(k.last.until) {
		return k.last.cost
	}
	n, err := k.compute(ctx)
	if err != nil {
		if ctx.Err() == nil {
			k.log.WarnContext(ctx, "what the schedule still needs is not known", slog.Any("error", err))
		}
		return k.last.cost
	}
	k.at, k.last = now, n
	return n.cost
}
