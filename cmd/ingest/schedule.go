package main

import (
	"context"
	"fmt"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/internal/budget"
	"github.com/trendvidstream/ingest/internal/config"
	"github.com/trendvidstream/ingest/internal/strictyaml"
	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/regions"
	"github.com/trendvidstream/ingest/store"
)

// readTariff reads the costs of the configured upstream.
func (a *app) readTariff() (*quota.Tariff, error) {
	name, data := "costs.yaml", ingest.Costs
	if a.cfg.Costs != "" {
		a.noteOpened("costs")
		var err error
		name = a.cfg.Costs
		if data, err = strictyaml.ReadFile(name); err != nil {
			return nil, config.Invalid(fmt.Errorf("read the costs: %w: check --costs, INGEST_COSTS and costs: in the config", err))
		}
	}
	return quota.ParseCosts(name, data, a.cfg.Upstream, a.cfg.CostTable)
}

// jobSchedules returns when the jobs are due.
func jobSchedules(jobs []ingest.Job) (regions.Schedule, error) {
	s, err := regions.NewSchedule(jobs)
	return s, config.Invalid(err)
}

// schedule returns the configured jobs with the costs of their calls.
func (a *app) schedule() (budget.PricedSchedule, error) { return a.scheduleOf(a.cfg.Jobs) }

func (a *app) scheduleOf(jobs []ingest.Job) (budget.PricedSchedule, error) {
	due, err := jobSchedules(jobs)
	if err != nil {
		return budget.PricedSchedule{}, err
	}
	tariff, err := a.tariff()
	return budget.PricedSchedule{Jobs: due, Upstream: a.provider().calls, Tariff: tariff}, err
}

// pricedSchedule returns the schedule with the price of the day that begins now.
func (a *app) pricedSchedule() (budget.PricedSchedule, budget.Price, error) {
	schedule, err := a.schedule()
	if err != nil {
		return schedule, budget.Price{}, err
	}
	price, err := schedule.DayPrice(a.clock.Now())
	return schedule, price, err
}

// jobSlots is the part of the store that budget reads.
type jobSlots struct{ store *store.Store }

func (s jobSlots) NewestDone(ctx context.Context, job string, n int) ([]ingest.Slot, error) {
	return s.store.ListSlots(ctx, store.SlotFilter{Job: job, State: ingest.Done, Limit: n})
}

func (s jobSlots) DueSince(ctx context.Context, job string, since time.Time) ([]ingest.Slot, error) {
	return s.store.ListSlots(ctx, store.SlotFilter{Job: job, Since: since})
}
