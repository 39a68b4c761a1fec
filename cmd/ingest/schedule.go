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

// planOf returns the schedule of the configured jobs.
func planOf(c *config.Config) (regions.Plan, error) {
	p, err := regions.NewPlan(c.Jobs)
	return p, config.Invalid(err)
}

// scheduleOf returns the configured jobs with the costs of their calls.
func scheduleOf(c *config.Config) (budget.Schedule, error) {
	plan, err := planOf(c)
	if err != nil {
		return budget.Schedule{}, err
	}
	tariff, err := tariffOf(c)
	return budget.Schedule{Plan: plan, Upstream: providers[c.Upstream].calls, Tariff: tariff}, err
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
