package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/internal/budget"
	"github.com/trendvidstream/ingest/internal/config"
	"github.com/trendvidstream/ingest/internal/report"
	"github.com/trendvidstream/ingest/internal/strictyaml"
	"github.com/trendvidstream/ingest/internal/term"
	"github.com/trendvidstream/ingest/internal/web"
	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/regions"
	"github.com/trendvidstream/ingest/store"
)

// paceNow returns a schedule at its present pace, and the newest slots of each series. Nothing is paced while the store
// or the ledger cannot be read; an error is one of the store.
func (a *app) paceNow(ctx context.Context, schedule budget.PricedSchedule, s *store.Store, report func(context.Context) (quota.Report, error)) (budget.Pace, ingest.Latest, error) {
	pace, latest, now := budget.Pace{Schedule: schedule.Jobs}, ingest.Latest{}, a.clock.Now()
	if s != nil {
		var err error
		if latest, err = s.Latest(ctx, now); err != nil {
			return pace, latest, err
		}
	}
	if r, err := report(ctx); err == nil {
		if a.cfg.Pacing && s != nil {
			expected, others := a.others(s, schedule).Expect(ctx, r)
			pace = schedule.Pace(expected, latest.Known(), now)
			pace.Others = others
		} else {
			pace = schedule.Held(r, now)
		}
	}
	return pace, latest, nil
}

// others watches what is spent beside the jobs of a store.
func (a *app) others(s *store.Store, schedule budget.PricedSchedule) budget.OthersWatch {
	return budget.OthersWatch{Notes: s, Schedule: schedule, Shared: a.cfg.Ledger != "sqlite", Log: a.log()}
}

// reported returns a report that was read already.
func reported(r quota.Report) func(context.Context) (quota.Report, error) {
	return func(context.Context) (quota.Report, error) { return r, nil }
}

// openPace is paceNow of the configured jobs, for a command that opened nothing yet.
func (a *app) openPace(ctx context.Context) (pace budget.Pace, latest ingest.Latest, err error) {
	schedule, err := a.schedule()
	if err != nil {
		return pace, latest, err
	}
	s, err := a.store(ctx, "")
	switch {
	case err == nil:
		defer func() { _ = s.Close() }()
	case !errors.Is(err, fs.ErrNotExist): // else nothing was fetched yet
		return pace, latest, err
	}
	pace, latest, _ = a.paceNow(ctx, schedule, s, func(ctx context.Context) (r quota.Report, err error) {
		err = a.withReadOnlyLedger(ctx, func(ctx context.Context, l *ledger) (err error) {
			r, err = l.Report(ctx)
			return err
		})
		return r, err
	})
	return pace, latest, nil
}

// nextSlots returns the slots that wait and those until then at the present pace, with their costs. Nothing is paced
// without a store.
func (a *app) nextSlots(ctx context.Context, l *ledger, s *store.Store, until time.Time) ([]report.NextDocument, error) {
	schedule, err := a.schedule()
	if err != nil {
		return nil, err
	}
	pace, latest, err := a.paceNow(ctx, schedule, s, l.Report)
	if err != nil {
		return nil, err
	}
	slots, err := schedule.NextAt(pace, latest, a.clock.Now(), until)
	waiting := pace.Schedule.Waiting(latest, a.clock.Now())
	return report.NewNextDocuments(slots, waiting, latest, a.clock.Now()), err
}

// freshNow returns how fresh everything in a store is.
func (a *app) freshNow(ctx context.Context, l *ledger, s *store.Store) (*report.Freshness, error) {
	schedule, err := a.schedule()
	if err != nil {
		return nil, err
	}
	pace, _, err := a.paceNow(ctx, schedule, s, l.Report)
	if err != nil {
		return nil, err
	}
	f, err := a.freshSite(s, pace.Schedule).Freshness(ctx)
	return &f, err
}

// warnOfFuture warns if the clock stands before the newest slot.
func (a *app) warnOfFuture(ctx context.Context, s *store.Store) {
	newest, err := s.ListSlots(ctx, store.SlotFilter{Limit: 1})
	if err == nil && len(newest) > 0 && newest[0].DueAt.After(a.clock.Now().Add(ingest.ClockAhead)) {
		a.say("ingest: warning: the clock says %s, before the newest slot, of %s: slots in the future count for nothing; if the clock is right, ingest doctor --repair removes them",
			term.Stamp(a.clock.Now()), term.Stamp(newest[0].DueAt))
	}
}

// freshSite is the part of a site that says how fresh everything is.
func (a *app) freshSite(s *store.Store, schedule regions.Schedule) *web.Site {
	return &web.Site{Now: a.clock.Now, Schedule: schedule, Slots: serviceStore{s, a.clock.Now}, StaleAfter: a.cfg.StaleAfter, Calls: s.CallStats, Upstream: a.provider().name}
}

// serviceStore is the store as the service reads it.
type serviceStore struct {
	*store.Store
	now func() time.Time
}

func (s serviceStore) Check(ctx context.Context) (path string, err error) {
	if err = s.CheckVersion(ctx); err == nil {
		_, err = s.ListSlots(ctx, store.SlotFilter{Limit: 1})
	}
	return s.Path(), err
}

func (s serviceStore) Latest(ctx context.Context) (ingest.Latest, error) {
	return s.Store.Latest(ctx, s.now())
}

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
	tariff, err := quota.ParseCosts(name, data, a.cfg.Upstream, a.cfg.CostTable)
	if err != nil {
		return nil, err
	}
	if err := tariff.LimitClients(a.cfg.GatewayLimits()); err != nil {
		return nil, config.Invalid(fmt.Errorf("clients: in %s: %w", a.cfg.File, err))
	}
	return tariff, nil
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
