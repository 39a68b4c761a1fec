package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/fetch"
	"github.com/trendvidstream/ingest/fetch/wire"
	"github.com/trendvidstream/ingest/internal/audit"
	"github.com/trendvidstream/ingest/internal/budget"
	"github.com/trendvidstream/ingest/internal/config"
	"github.com/trendvidstream/ingest/internal/doctor"
	"github.com/trendvidstream/ingest/internal/documents"
	"github.com/trendvidstream/ingest/internal/pages"
	"github.com/trendvidstream/ingest/internal/report"
	"github.com/trendvidstream/ingest/internal/sqlitefile"
	"github.com/trendvidstream/ingest/internal/term"
	"github.com/trendvidstream/ingest/internal/web"
	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/httplimit"
	"github.com/trendvidstream/ingest/regions"
	"github.com/trendvidstream/ingest/store"
	"github.com/trendvidstream/ingest/store/pgstore"
)

// The one place where adapters meet: each method opens one as configured.

var (
	_ fetch.Slots     = (*store.Store)(nil)
	_ fetch.Sink      = (*store.Store)(nil)
	_ fetch.Library   = (*store.Store)(nil)
	_ fetch.Quota     = (*quota.Governor)(nil)
	_ fetch.Scheduler = (regions.Schedule)(nil)
)

// openUpstream makes the client; it sends nothing. If the provider needs a key, only a local stand-in works without.
func openUpstream(ctx context.Context, c *config.Config) (upstream, error) {
	p := providers[c.Upstream]
	var key ingest.Secret
	if p.keyed {
		var err error
		if key, err = c.Key(); err != nil {
			return nil, err
		}
		if key.IsZero() && !config.IsLoopbackURL(c.UpstreamURL) {
			return nil, config.ErrNoKey
		}
	}
	up, err := p.open(ctx, c, key)
	return up, config.Invalid(err)
}

// openKeyless makes a client that never sends anything.
func openKeyless(ctx context.Context, c *config.Config) (upstream, error) {
	up, err := providers[c.Upstream].open(ctx, c, ingest.NewSecret("never-sent"))
	return up, config.Invalid(err)
}

// fetchRuntime is everything that a pass needs, opened.
type fetchRuntime struct {
	schedule budget.PricedSchedule
	price    budget.Price // of a day of the schedule
	upstream upstream
	store    *store.Store
	ledger   *ledger
	calls    *store.CallCounter // nil if nothing is fetched
	close    func()
	rate     *fetch.Rate // of the calls of all that use the store
}

// open opens everything, or nothing.
func (a *app) open(ctx context.Context) (*fetchRuntime, error) { return a.openWith(ctx, openUpstream) }

// openWith opens everything, with the client that connect makes, or nothing. A config that can be refused without a
// file is refused before one is created.
func (a *app) openWith(ctx context.Context,
	connect func(context.Context, *config.Config) (upstream, error)) (*fetchRuntime, error) {
	schedule, price, err := a.pricedSchedule()
	if err != nil {
		return nil, err
	}
	up, err := connect(ctx, a.cfg)
	if err != nil {
		return nil, err
	}
	for _, server := range slices.Compact([]string{a.cfg.Ledger, a.cfg.Store}) {
		if host := doctor.InClear(server); host != "" {
			text, cure := doctor.DescribeInClear(server, host)
			a.say("ingest: %s: %s", text, cure)
		}
	}
	s, l, err := a.openStoreAndLedger(ctx, config.StoreHost(up.Host()))
	if err != nil {
		return nil, err
	}
	if err := s.ReleaseDead(ctx, a.clock.Now(), config.RunDied); err != nil {
		l.close()
		return nil, errors.Join(err, s.Close())
	}
	calls := store.NewCallCounter(s)
	f := &fetchRuntime{schedule, price, up, s, l,
		calls, func() { calls.SaveLast(); up.Close(); l.close(); _ = s.Close() }, &fetch.Rate{Notes: s}}
	l.Reserve = f.reserveCache(a).Reserve
	return f, nil
}

// openStoreAndLedger opens an existing store, then the ledger, then a new store if there was none: if the ledger is
// refused, no store is left behind.
func (a *app) openStoreAndLedger(ctx context.Context, host string) (_ *store.Store, _ *ledger, err error) {
	o := store.Options{Upstream: host, Existing: true}
	spent := func(context.Context, time.Time) ([]ingest.Slot, error) { return nil, nil } // there is no store yet
	s, err := a.openStore(ctx, o)
	switch {
	case err == nil:
		spent = s.SpentSlots
	case !errors.Is(err, fs.ErrNotExist):
		return nil, nil, ingest.StoreClosed(err)
	}
	l, err := a.openCheckedLedger(ctx, spent)
	switch {
	case err != nil && s != nil:
		_ = s.Close()
	case err == nil && s == nil:
		o.Existing = false
		if err = a.checkStoreGone(ctx, l); err == nil {
			s, err = a.openStore(ctx, o)
		}
		if err != nil {
			l.close()
			err = ingest.StoreClosed(err)
		}
	}
	if err == nil {
		_ = l.journal.FillsStore(ctx, config.ServerName(a.cfg.Store)) // if it cannot be written, nothing is spent
	}
	return s, l, err
}

// checkStoreGone fails if quota.db knows of a store, for one that is not there.
func (a *app) checkStoreGone(ctx context.Context, l *ledger) error {
	if a.newStore {
		return nil
	}
	return audit.CheckStoreGone(ctx, l.journal, l.Account, config.ServerName(a.cfg.Store),
		a.storeName(), a.clock.Now().Add(-l.Tariff.Horizon()))
}

// storeGone is checkStoreGone for a command that only reads, and has found no store.
func (a *app) storeGone(ctx context.Context) error {
	if !sqlitefile.Exists(filepath.Join(a.cfg.Data, ledgerFile)) {
		return nil
	}
	if err := a.withReadOnlyLedger(ctx, a.checkStoreGone); errors.Is(err, ingest.ErrStoreGone) {
		return err
	}
	return nil // else nothing was fetched yet, or the ledger's own commands report its fault
}

func (f *fetchRuntime) reconciler(a *app) *fetch.Reconciler {
	r := &fetch.Reconciler{
		Jobs: map[string]ingest.Job{}, Schedule: f.schedule.Jobs, Slots: f.store, Sink: f.store,
		Room: f.store.Room, Library: f.store, Notes: f.store,
		Upstream: f.upstream, Quota: f.ledger.Governor,
		Owner: config.RunName(), FreeBursts: f.ledger.Tariff.FreeBursts, Now: a.clock.Now, Log: a.log(), Rate: f.rate,
	}
	for _, job := range a.cfg.Jobs {
		r.Jobs[job.Name] = job
	}
	if !a.clock.Moved { // a moved clock is meant to differ
		r.Date, f.ledger.Date = f.upstream.AskDate, f.upstream.AskDate
		if a.cfg.Store != "sqlite" {
			r.CheckClock = f.checkClock
		}
	}
	r.Namer, _ = f.upstream.(fetch.Namer)
	if _, ok := f.schedule.CountCost(); ok {
		r.Counter, _ = f.upstream.(fetch.Counter)
	}
	if f.calls != nil {
		r.OnCall = f.calls.Observe
	}
	r.Reserve = f.reserveCache(a).Reserve
	if a.cfg.Pacing {
		others := a.others(f.store, f.schedule)
		r.Pace, r.RefreshCalls = others.PaceBy(f.ledger.Governor), others.RefreshCalls
	}
	if a.wrapPass != nil {
		a.wrapPass(r)
	}
	return r
}

// checkClock compares the clocks of this machine and of the database.
func (f *fetchRuntime) checkClock(ctx context.Context) error {
	here, there, err := ingest.AskClock(ctx, f.store.Clock)
	if err != nil {
		return err
	}
	return ingest.CompareClocks("the database", here, there, f.ledger.Tariff.Gap())
}

// reserveCache returns the amounts that backfills and refreshes must leave for the schedule.
func (f *fetchRuntime) reserveCache(a *app) *budget.ReserveCache {
	return &budget.ReserveCache{Now: a.clock.Now, Log: a.log(),
		Compute: func(ctx context.Context) (quota.Reserve, error) { return f.reserve(ctx, a) }}
}

// reserve returns the schedule's need and its use. If the ledger cannot answer, nothing counts as used.
func (f *fetchRuntime) reserve(ctx context.Context, a *app) (quota.Reserve, error) {
	r, err := f.schedule.Reserve(ctx, f.store, a.clock.Now())
	if err == nil {
		r.Used, _ = f.ledger.ScheduledUse(ctx)
	}
	return r, err
}

// checkClock refuses a moved clock where it could meet a real quota.
func (a *app) checkClock(ctx context.Context) error {
	if !a.clock.Moved {
		return nil
	}
	if a.cfg.Ledger != "sqlite" {
		return config.Invalid(fmt.Errorf("INGEST_NOW moves the clock of this program only: it goes with --ledger sqlite"))
	}
	local := config.IsLoopbackURL(a.cfg.UpstreamURL)
	// The store's contents decide: a command that only reads may leave the upstream out, and no flag may combine a
	// moved clock with the ledger of real data.
	if s, err := a.store(ctx); err == nil {
		local = wire.IsLoopback(s.Upstream())
		_ = s.Close()
	}
	if !local {
		return config.Invalid(fmt.Errorf("INGEST_NOW is for a stand-in upstream: " +
			"give --upstream-url http://127.0.0.1:PORT/ (see ingest simulate)"))
	}
	a.say("ingest: INGEST_NOW has moved the clock to %s", term.Stamp(a.clock.Now()))
	return nil
}

// store opens the store for reading. A server has answersWithin for it.
func (a *app) store(ctx context.Context) (*store.Store, error) {
	if a.cfg.Store != "sqlite" {
		bounded, cancel := context.WithTimeout(ctx, answersWithin)
		defer cancel()
		ctx = bounded
	}
	return a.openStore(ctx, store.Options{ReadOnly: true})
}

// writableStore opens the store for writing; like store, it creates none.
func (a *app) writableStore(ctx context.Context) (*store.Store, error) {
	return a.openStore(ctx, store.Options{Existing: true})
}

func (a *app) openStore(ctx context.Context, o store.Options) (*store.Store, error) {
	o.Now, o.Upgraded, o.Hooks = a.clock.Now, a.sayUpgraded, a.cfg.HookEvents()
	if err := config.CheckStore(a.cfg.Store); err != nil { // store copy names stores of its own
		return nil, err
	}
	if a.cfg.Store == "sqlite" {
		return store.Open(ctx, a.cfg.Data, o)
	}
	return pgstore.Open(ctx, a.cfg.Store, o)
}

// storeName returns where the store is, without secrets.
func (a *app) storeName() string {
	if a.cfg.Store == "sqlite" {
		return a.cfg.Data
	}
	return config.ServerName(a.cfg.Store)
}

// readStore opens the store for a command that only reads, and explains a missing one.
func (a *app) readStore(ctx context.Context) (*store.Store, error) {
	s, err := a.store(ctx)
	if errors.Is(err, fs.ErrNotExist) {
		if gone := a.storeGone(ctx); gone != nil {
			return nil, gone
		}
		err = codeError{exitError,
			fmt.Errorf("nothing was fetched into %s yet: try ingest run, or give another --data", a.storeName())}
	}
	return s, err
}

// answersWithin bounds the time of one command's reads from a store on a server.
const answersWithin = 4 * time.Second

// withStore runs do on the store, for a command that only reads. A server has answersWithin for it.
func (a *app) withStore(ctx context.Context, do func(context.Context, *store.Store) error) error {
	if a.cfg.Store != "sqlite" {
		bounded, cancel := context.WithTimeoutCause(ctx, answersWithin,
			fmt.Errorf("%w: %s: no answer within %v", ingest.ErrStoreSilent, a.storeName(), answersWithin))
		defer cancel()
		ctx = bounded
	}
	s, err := a.readStore(ctx)
	if err == nil {
		defer func() { _ = s.Close() }()
		err = do(ctx, s)
	}
	if err != nil && errors.Is(context.Cause(ctx), ingest.ErrStoreSilent) {
		return context.Cause(ctx)
	}
	return err
}

func (a *app) sayUpgraded(from, to int, backup string) {
	a.say("ingest: upgraded the store from version %d to %d; a backup is %s", from, to, backup)
}

// newAPI returns the handler of /v1/, with the config's limits. The ledger on a server, if there is one, counts them,
// else memory: no request waits for a disk.
func newAPI(c *config.Config, remote quota.Ledger) (*web.API, error) {
	api, l := &web.API{Origins: c.API.Origins}, c.API.Config
	l.Ledger, l.Limits = remote, c.ClientLimits()
	limiter, err := httplimit.New(l)
	if err != nil {
		return nil, config.Invalid(fmt.Errorf("%s: api: %w", c.File, err))
	}
	if len(l.Limits)+len(l.Outer)+len(l.Addresses)+len(l.Tokens)+len(l.Deny)+len(l.Routes)+len(l.Callers) > 0 {
		api.Limiter = limiter
	}
	return api, nil
}

func (a *app) pages() pages.Site {
	site := a.provider().pages
	site.Hidden, site.Pictures, site.Title, site.Theme = a.cfg.HideDerived, !a.cfg.NoThumbnails, a.cfg.Title, a.cfg.Theme
	if config.IsLoopbackURL(a.cfg.UpstreamURL) {
		site.StandIn = strings.TrimSuffix(a.cfg.UpstreamURL, "/") // invented videos have no pictures elsewhere
	}
	return site
}

func (a *app) reader(s *store.Store) documents.Reader {
	return documents.Reader{Store: s, Jobs: a.cfg.Jobs, Now: a.clock.Now, Watch: a.provider().watch,
		Named: a.provider().named, Hidden: a.cfg.HideDerived}
}

// asUsageError turns an error that the user's request caused into a usage error.
func asUsageError(err error) error {
	if errors.Is(err, report.ErrBadRequest) || errors.Is(err, documents.ErrDerived) {
		return usageError{errors.New(strings.TrimPrefix(err.Error(), report.ErrBadRequest.Error()+": "))}
	}
	return err
}
