package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/internal/budget"
	"github.com/trendvidstream/ingest/internal/config"
	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/regions"
	"github.com/trendvidstream/ingest/store"
)

// tariffOf reads the costs of the configured upstream.
func tariffOf(c *config.Config) (*quota.Tariff, error) {
	name, data := "costs.yaml", ingest.Costs
	if c.Costs != "" {
		var err error
		name = c.Costs
		if data, err = os.ReadFile(name); err != nil {
			return nil, config.Invalid(fmt.Errorf("read the costs: %w: check --costs, INGEST_COSTS and costs: in the config", err))
		}
	}
	return quota.ParseCosts(name, data, c.Upstream, c.CostTable)
}

// jobSchedules returns when the configured jobs are due.
func jobSchedules(c *config.Config) (regions.Schedule, error) {
	s, err := regions.NewSchedule(c.Jobs)
	return s, config.Invalid(err)
}

// scheduleOf returns the configured jobs with the costs of their calls.
func scheduleOf(c *config.Config) (budget.Schedule, error) {
	jobs, err := jobSchedules(c)
	if err != nil {
		return budget.Schedule{}, err
	}
	tariff, err := tariffOf(c)
	return budget.Schedule{Jobs: jobs, Upstream: providers[c.Upstream].calls, Tariff: tariff}, err
}

// pricedSchedule returns the schedule with the price of the day that begins now.
func (a *app) pricedSchedule() (budget.Schedule, budget.Price, error) {
	schedule, err := scheduleOf(a.cfg)
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
