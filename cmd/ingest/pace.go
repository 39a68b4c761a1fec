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

// standing is the state of the schedule at one moment, from the store and the ledger.
type standing struct {
	now       time.Time
	schedule  budget.PricedSchedule
	pace      budget.Pace // nothing is paced while the store or the ledger cannot be read
	latest    ingest.Latest
	storeErr  error
	left      quota.Report
	ledgerErr error
	foreseen  []budget.PricedSlot // the slots until the provider's day ends, each with whether it fits
}

// stand returns the standing; s is nil if there is no store.
func (a *app) stand(ctx context.Context, s *store.Store, report func(context.Context) (quota.Report, error)) (st standing, err error) {
	st.now = a.clock.Now()
	if st.schedule, err = a.schedule(); err != nil {
		return st, err
	}
	st.pace.Schedule = st.schedule.Jobs
	if s != nil {
		if st.latest, st.storeErr = s.Latest(ctx, st.now); st.storeErr != nil {
			return st, nil //nolint:nilerr // st holds the error: what does not need the store goes on
		}
	}
	st.left, st.ledgerErr = report(ctx)
	switch {
	case st.ledgerErr != nil:
	case a.cfg.Pacing && s != nil:
		expected, others := a.others(s, st.schedule).Expect(ctx, st.left)
		st.pace = st.schedule.Pace(expected, st.latest.Known(), st.now)
		st.pace.Others = others
	default:
		st.pace = st.schedule.Held(st.left, st.now)
	}
	return st, nil //nolint:nilerr // st holds the error: what does not need the ledger goes on
}

// waiting returns the slots that have come due and that no run has completed.
func (st standing) waiting() map[ingest.Series]ingest.Slot {
	return st.pace.Schedule.Waiting(st.latest, st.now)
}

// upcoming returns the next n slots of the series that are wanted: those that wait, stored or not, and those to come.
func (st standing) upcoming(n int, wanted func(ingest.Series) bool) []ingest.Slot {
	return st.pace.Schedule.Upcoming(st.latest, st.now, n, wanted)
}

// next returns the slots that wait or come due before the provider's day ends, with their costs.
func (st standing) next() ([]report.NextDocument, error) {
	if st.storeErr != nil {
		return nil, st.storeErr
	}
	return report.NewNextDocuments(st.foreseen, st.waiting(), st.latest, st.now), nil
}

// others watches what is spent outside the jobs of a store.
func (a *app) others(s *store.Store, schedule budget.PricedSchedule) budget.OthersWatch {
	return budget.OthersWatch{Notes: s, Schedule: schedule, Shared: a.cfg.Ledger != "sqlite", Log: a.log()}
}

// reported returns a function that returns a report read earlier.
func reported(r quota.Report) func(context.Context) (quota.Report, error) {
	return func(context.Context) (quota.Report, error) { return r, nil }
}

// openStanding returns the standing for a command that has opened nothing yet.
func (a *app) openStanding(ctx context.Context) (standing, error) {
	s, err := a.store(ctx)
	switch {
	case err == nil:
		defer func() { _ = s.Close() }()
	case !errors.Is(err, fs.ErrNotExist): // else nothing was fetched yet
		return standing{}, err
	}
	return a.stand(ctx, s, func(ctx context.Context) (r quota.Report, err error) {
		err = a.withReadOnlyLedger(ctx, func(ctx context.Context, l *ledger) (err error) {
			r, err = l.report(ctx)
			return err
		})
		return r, err
	})
}

// warnOfStore warns of a store that takes no more answers, and of slots in the future.
func (a *app) warnOfStore(ctx context.Context, s *store.Store) {
	a.warnOfRoom(s)
	newest, err := s.ListSlots(ctx, store.SlotFilter{Limit: 1})
	if err == nil && len(newest) > 0 && newest[0].DueAt.After(a.clock.Now().Add(ingest.ClockAhead)) {
		advice := "slots in the future count for nothing; if the clock is right, ingest doctor --repair removes them"
		if a.cfg.Store != "sqlite" {
			advice = "this machine's clock or another's is wrong: set them (timedatectl set-ntp true)"
		}
		a.say("ingest: warning: the clock says %s, before the newest slot, of %s: %s", term.Stamp(a.clock.Now()), term.Stamp(newest[0].DueAt), advice)
	}
}

func (a *app) warnOfRoom(s *store.Store) {
	if err := s.Room(); err != nil {
		a.say("ingest: warning: nothing is fetched: %v", err)
	}
}

// freshSite is the part of a site that judges freshness.
func (a *app) freshSite(s *store.Store, st standing) *web.Site {
	return &web.Site{
		Now: a.clock.Now, Schedule: func() report.WantedSeries { return st.pace.Schedule }, Latest: serviceStore{s, a.clock.Now}.Latest, StaleAfter: a.cfg.StaleAfter,
		Calls: s.CallStats, Upstream: a.provider().name,
		Closed: func() bool { return st.left.Degraded != nil && report.NothingGoesOn(st.left.EmergencyLeft) },
	}
}

// serviceStore is the store as the service reads it.
type serviceStore struct {
	*store.Store
	now func() time.Time
}

func (s serviceStore) Check(ctx context.Context) (path string, err error) {
	return s.Path(), s.CheckPlace(ctx)
}

func (s serviceStore) Latest(ctx context.Context) (ingest.Latest, error) {
	return s.Store.Latest(ctx, s.now())
}

func (a *app) readTariff() (*quota.Tariff, error) {
	name, data := "costs.yaml", ingest.Costs
	if a.cfg.Costs != "" {
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
