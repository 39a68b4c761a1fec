package main

import (
	"context"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/internal/budget"
	"github.com/trendvidstream/ingest/store"
)

// schedule is the configured jobs with what their calls cost.
func (a *app) schedule() (budget.Schedule, error) {
	plan, err := a.plan()
	if err != nil {
		return budget.Schedule{}, err
	}
	tariff, err := a.tariff()
	return budget.Schedule{Plan: plan, Upstream: a.provider().calls, Tariff: tariff}, err
}

// reserver is what backfills and a refresh leave for the schedule.
func (w *fetchRuntime) reserver(a *app) *budget.Reserver {
	return &budget.Reserver{Now: a.clock.Now, Log: a.log(), Compute: func(ctx context.Context) (budget.Reserve, error) {
		return w.schedule.Reserve(ctx, jobSlots{w.store}, a.clock.Now())
	}}
}

// jobSlots is what budget asks of the store.
type jobSlots struct{ store *store.Store }

func (s jobSlots) NewestDone(ctx context.Context, job string, n int) ([]ingest.Slot, error) {
	return s.store.ListSlots(ctx, store.SlotFilter{Job: job, State: ingest.Done, Limit: n})
}

func (s jobSlots) DueSince(ctx context.Context, job string, since time.Time) ([]ingest.Slot, error) {
	return s.store.ListSlots(ctx, store.SlotFilter{Job: job, Since: since})
}
