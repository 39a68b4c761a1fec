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
	"github.com/trendvidstream/ingest/internal/standing"
	"github.com/trendvidstream/ingest/internal/strictyaml"
	"github.com/trendvidstream/ingest/internal/term"
	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/regions"
	"github.com/trendvidstream/ingest/store"
)

// stand returns the standing; s is nil if there is no store, or if storeErr says why it cannot be read.
func (a *app) stand(ctx context.Context, s *store.Store, storeErr error,
	report ledgerReport) (standing.Standing, error) {
	f := a.facts(ctx, s, storeErr)
	f.Report, f.LedgerErr = report(ctx)
	return a.standBy(ctx, f, s)
}

// facts returns the facts of the store, with the schedule as configured.
func (a *app) facts(ctx context.Context, s *store.Store, storeErr error) standing.Facts {
	f := standing.Facts{Now: a.clock.Now(), StaleAfter: a.cfg.StaleAfter, Provider: a.provider().name, StoreErr: storeErr}
	if schedule, err := a.schedule(); err == nil {
		f.Pace.Schedule = schedule.Jobs
	}
	if s != nil && storeErr == nil {
		f.ReadStore(ctx, serviceStore{s, func() time.Time { return f.Now }, s.CallStats})
	}
	return f
}

// standBy returns the standing by facts of the store and a report of the ledger.
func (a *app) standBy(ctx context.Context, f standing.Facts, s *store.Store) (standing.Standing, error) {
	schedule, err := a.schedule()
	if err != nil {
		return standing.Standing{}, err
	}
	var others standing.Others
	if a.cfg.Pacing && s != nil {
		others = a.others(s, schedule)
	}
	err = f.Foresee(ctx, schedule, others)
	return standing.At(f), err
}

// others watches the spends outside the jobs of a store.
func (a *app) others(s *store.Store, schedule budget.PricedSchedule) budget.OthersWatch {
	return budget.OthersWatch{Notes: s, Schedule: schedule, Shared: a.cfg.Ledger != "sqlite", Log: a.log()}
}

// ledgerReport asks the ledger.
type ledgerReport func(context.Context) (quota.Report, error)

// openStanding returns the standing for a command that has opened nothing yet.
func (a *app) openStanding(ctx context.Context) (standing.Standing, error) {
	var gone error
	s, err := a.store(ctx)
	switch {
	case err == nil:
		defer func() { _ = s.Close() }()
	case errors.Is(err, fs.ErrNotExist):
		gone = a.storeGone(ctx)
	default:
		return standing.Standing{}, err
	}
	return a.stand(ctx, s, gone, func(ctx context.Context) (r quota.Report, err error) {
		err = a.withReadOnlyLedger(ctx, func(ctx context.Context, l *ledger) (err error) {
			r, err = l.report(ctx)
			return err
		})
		return r, err
	})
}

// warnOfStore warns of a store that takes no more answers, and of slots in the future.
func (a *app) warnOfStore(ctx context.Context, s *store.Store) {
	if err := s.Room(); err != nil {
		a.say("ingest: warning: nothing is fetched: %v", err)
	}
	newest, err := s.ListSlots(ctx, store.SlotFilter{Limit: 1})
	if err == nil && len(newest) > 0 && newest[0].DueAt.After(a.clock.Now().Add(ingest.ClockAhead)) {
		advice := "if it is right: ingest doctor --repair"
		if a.cfg.Store != "sqlite" {
			advice = "this machine's clock or another one is wrong: set them (timedatectl set-ntp true)"
		}
		a.say("ingest: warning: the clock says %s, the newest slot is of %s and does not count; %s",
			term.Stamp(a.clock.Now()), term.Stamp(newest[0].DueAt), advice)
	}
}

// serviceStore is the store as the service reads it.
type serviceStore struct {
	*store.Store
	now   func() time.Time
	calls func(context.Context) (ingest.CallStats, error)
}

func (s serviceStore) Check(ctx context.Context) (path string, err error) {
	return s.Path(), s.CheckPlace(ctx)
}

func (s serviceStore) Latest(ctx context.Context) (ingest.Latest, error) {
	return s.Store.Latest(ctx, s.now())
}

func (s serviceStore) CallStats(ctx context.Context) (ingest.CallStats, error) { return s.calls(ctx) }

func (a *app) readTariff() (*quota.Tariff, error) {
	name, data := "costs.yaml", ingest.Costs
	if a.cfg.Costs != "" {
		var err error
		name = a.cfg.Costs
		if data, err = strictyaml.ReadFile(name); err != nil {
			return nil, config.Invalid(fmt.Errorf("read the costs: %w: check --costs, INGEST_COSTS and costs: "+
				"in the config", err))
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
	s := budget.PricedSchedule{Jobs: due, Upstream: a.provider().calls, Tariff: tariff}
	if a.cfg.Store == "sqlite" { // machines that share a store share its schedule
		s.Hosts = a.cfg.Hosts
	}
	return s, err
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

// unfit returns a warning if the quota does not pay for the schedule and for a backfill beside it: pacing then spreads
// the slots over the day. Without pacing, a schedule that does not fit is refused.
func (a *app) unfit(price budget.Price, tariff *quota.Tariff) (warning string, err error) {
	err = price.Fits(tariff)
	switch {
	case err == nil:
		return "", nil
	case !a.cfg.Pacing:
		return "", config.Invalid(err)
	}
	return err.Error() + "; until then slots are spread over the day (pacing: auto)", nil
}
