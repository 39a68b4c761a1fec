package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/fetch"
	"github.com/trendvidstream/ingest/internal/config"
	"github.com/trendvidstream/ingest/internal/gateway"
	"github.com/trendvidstream/ingest/internal/policy"
	"github.com/trendvidstream/ingest/internal/queue"
	"github.com/trendvidstream/ingest/internal/report"
	"github.com/trendvidstream/ingest/internal/service"
	"github.com/trendvidstream/ingest/internal/standing"
	"github.com/trendvidstream/ingest/internal/term"
	"github.com/trendvidstream/ingest/internal/web"
	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/sqliteledger"
	"github.com/trendvidstream/ingest/regions"
	"github.com/trendvidstream/ingest/store/pgstore"
)

func (a *app) serveCommand() *cobra.Command {
	var listen string
	var workers int
	var origins []string
	cmd := command("serve", "Fetch the due slots, all day: for systemd and containers", noArgs,
		func(ctx context.Context, _ []string) error {
			if a.flags.Set("listen") {
				a.cfg.Listen = listen
			}
			a.cfg.Concurrency = cmp.Or(workers, a.cfg.Concurrency)
			a.cfg.API.Origins = append(a.cfg.API.Origins, origins...)
			return a.serve(ctx, nil)
		})
	cmd.Flags().StringVar(&listen, "listen", "", "`address` of the status page, /v1/, /readyz, /metrics (INGEST_LISTEN)")
	cmd.Flags().Var(config.Origins(&origins), "origin",
		"pages of this `origin`, such as http://localhost:5173, may read /v1/ (api: origins:)")
	cmd.Flags().Var(config.Count(&workers, 1, config.MaxConcurrency), "workers",
		"fetch `N` slots at once (concurrency: of the config); with --store postgres://… other machines fetch too")
	return cmd
}

// serve runs until ctx is done, at l or, if that is nil, at the configured address. It makes all possible checks
// before it opens anything, and listens before it opens a file.
func (a *app) serve(ctx context.Context, l net.Listener) error {
	s, err := a.newService(ctx)
	if err != nil {
		return err
	}
	if l == nil {
		l, err = listenAt(ctx, a.cfg.Listen)
	}
	if err == nil {
		s.Admin, err = listenAt(ctx, a.cfg.AdminListen)
	}
	if err == nil {
		s.Gateway, err = listenAt(ctx, a.cfg.GatewayListen)
	}
	if err != nil {
		s.ReportFailedStart(ctx, err)
		return err
	}
	ctx, stop := notify(ctx, syscall.SIGHUP) // no other command handles SIGHUP
	defer stop()
	return s.Run(ctx, l)
}

// serveParts returns the parts of serve that need no file: the pinger and the API. The error names a refused setting.
// remote is the ledger on a server; nil: there is none.
func (a *app) serveParts(remote quota.Ledger) (p *service.Pinger, api *web.API, err error) {
	if err := config.CheckListen(a.cfg.Listen); err != nil {
		return nil, nil, err
	}
	if !web.IsBasePath(a.cfg.BasePath) {
		return nil, nil, config.Invalid(fmt.Errorf("base_path %q is not a path such as /ingest: "+
			"use letters, digits, '.', '-', '_' and '~' between the slashes, and none at the end", a.cfg.BasePath))
	}
	if p, err = a.newPinger(nil); err == nil {
		api, err = newAPI(a.cfg, remote)
	}
	return p, api, err
}

// newService returns the service, and makes the checks that open no file.
func (a *app) newService(ctx context.Context) (*service.Service, error) {
	schedule, price, err := a.pricedSchedule()
	if err != nil {
		return nil, err
	}
	warning, err := a.unfit(price, schedule.Tariff)
	if err != nil {
		return nil, err
	}
	remote, err := openRemote(ctx, a.cfg)
	if err != nil {
		return nil, err
	}
	p, api, err := a.serveParts(remote)
	if err != nil {
		return nil, err
	}
	if err := a.checkPolicy(policy.Facts{Reachable: a.cfg.Reachable(), OwnFrontEnd: a.cfg.OwnFrontEnd}); err != nil {
		return nil, err
	}
	jobs := term.Texts(a.cfg.Jobs, func(job ingest.Job) string { return job.Name })
	door := &gateway.Door{}
	o := service.Options{
		Schedule: schedule.Jobs, Version: version, Workers: a.cfg.Concurrency, StaleAfter: a.cfg.StaleAfter,
		Upstream: a.provider().name, AccessLog: a.cfg.AccessLog, Now: a.clock.Now, Stderr: a.stderr,
		Quiet: a.quiet, LogFormat: a.logs, Pinger: p, API: api, Hosts: a.cfg.HostNames(), BasePath: a.cfg.BasePath,
		Proxies: a.cfg.API.Proxies,
		About: []slog.Attr{slog.String("version", version), slog.String("data", a.cfg.Data),
			slog.String("ledger", config.ServerName(a.cfg.Ledger)), slog.String("jobs", strings.Join(jobs, ","))},
		Pages: a.pages(), GatewayHandler: door,
		Open:       func(ctx context.Context) (*service.Runtime, error) { return a.openService(ctx, door) },
		OpenReader: a.openReader,
		// A restart would not help against a ledger that is down or lost: the service waits for it.
		Temporary: func(err error) bool { return exitCode(err) == exitUnavailable },
		Reopen:    func(err error) bool { return errors.Is(err, sqliteledger.ErrMoved) },
		Outdated:  outdated,
	}
	if a.clock.Moved {
		o.Moved = "INGEST_NOW has moved the clock."
	}
	if a.json {
		o.OnSlot = a.printSlotEvent
	}
	s := service.New(o)
	a.logger = s.Log()
	if warning != "" {
		a.logger.Warn(warning)
	}
	return s, nil
}

// openService opens the service's parts, and the door of its gateway.
func (a *app) openService(ctx context.Context, door *gateway.Door) (*service.Runtime, error) {
	w, err := a.open(ctx)
	if err != nil {
		return nil, err
	}
	r := &service.Runtime{
		Reconciler: func() *fetch.Reconciler { return w.reconciler(a) },
		Reserve: func(ctx context.Context) (func(context.Context) quota.Reserve, error) {
			reserve := w.reserveCache(a)
			return reserve.Reserve, reserve.Update(ctx)
		},
		Store: serviceStore{w.store, a.clock.Now, w.calls.Total}, Ledger: w.ledger, Source: a.source(w.ledger, w.store),
		Save: w.calls.Save, Documents: a.reader(w.store).Documents(),
		Hooks: a.sender(w.store), Close: func() { door.Open(nil); w.close() },
		Stand: func(ctx context.Context, f standing.Facts, r quota.Report) (standing.Standing, error) {
			f.Report, f.LedgerErr = r, nil
			return a.standBy(ctx, f, w.store)
		},
	}
	err = a.shareWork(ctx, w, r)
	if err == nil && a.cfg.GatewayListen != "" {
		var g *gateway.Gateway
		g, err = a.newGateway(ctx, w)
		door.Open(g)
	}
	if err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

// openReader opens the store alone, for reading while the rest cannot be opened; why returns the reason.
func (a *app) openReader(ctx context.Context, why func() error) (*service.Runtime, error) {
	s, err := a.readStore(ctx)
	if err != nil {
		return nil, err
	}
	return &service.Runtime{Store: serviceStore{s, a.clock.Now, s.CallStats}, Source: a.storeSource(s, why),
		Documents: a.reader(s).Documents(), Close: func() { _ = s.Close() }}, nil
}

// slotEvent is a finished slot as serve --json prints it, one per line.
type slotEvent struct {
	report.SlotDocument
	TookMS int64 `json:"took_ms"`
}

func (a *app) printSlotEvent(r ingest.SlotResult) error {
	return a.printJSON(slotEvent{report.NewSlotDocument(r.Slot).Drew(r.Spent, r.Drew), r.Took.Milliseconds()})
}

// listenAt listens at an address that was checked; it returns nil for "".
func listenAt(ctx context.Context, address string) (net.Listener, error) {
	if address == "" {
		return nil, nil //nolint:nilnil // none is wanted
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, codeError{exitError,
			fmt.Errorf("%w: is another ingest serve there? Give another address; port 0 picks a free port", err)}
	}
	return l, nil
}

// shareWork joins this process to the queue of the machines that share the store; a SQLite store has none.
func (a *app) shareWork(ctx context.Context, w *fetchRuntime, r *service.Runtime) error {
	if a.cfg.Store == "sqlite" {
		return nil
	}
	if a.clock.Moved {
		return errors.New("INGEST_NOW moves the clock of one process, " +
			"and the queue in PostgreSQL serves many: use ingest run")
	}
	name := config.RunName()
	q, err := queue.Open(ctx, queue.Options{
		URL: ingest.NewSecret(a.cfg.Store), Version: pgstore.SchemaVersion(), Name: name, Workers: a.cfg.Concurrency,
		Pumps: a.cfg.Concurrency,
		Every: regions.Heartbeat, Rescue: cmp.Or(r.Reconciler().Lease, fetch.DefaultLease), Log: a.log(),
	})
	if err != nil {
		return err
	}
	m := &service.Machine{Name: config.Hostname(), Process: name, Store: w.store, CheckClock: w.checkClock,
		AskDate: w.upstream.AskDate, Gap: w.ledger.Tariff.Gap()}
	r.MayWork, r.ReportIdle, r.OtherIdle = m.MayWork, m.ReportIdle, m.OtherIdle
	r.Queue = func(ctx context.Context, w *service.Queued) (trigger, wait func(), err error) { return q.Serve(ctx, w) }
	closeStore := r.Close
	r.Close = func() { q.Close(); closeStore() }
	return nil
}
