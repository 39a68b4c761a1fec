package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/trendvidstream/ingest/fetch"
	"github.com/trendvidstream/ingest/internal/config"
	"github.com/trendvidstream/ingest/internal/demo"
	"github.com/trendvidstream/ingest/internal/youtubesim"
	"github.com/trendvidstream/ingest/quota/redisledger"
	"github.com/trendvidstream/ingest/regions"
	"github.com/trendvidstream/ingest/store"
)

func (a *app) demoCommand() *cobra.Command {
	var keep bool
	cmd := command("demo", "See it work: no key, no server, under a minute", noArgs,
		func(ctx context.Context, _ []string) error {
			if a.json {
				return usageError{errors.New("--json: demo tells a story, and has no document; ingest run --json has one")}
			}
			if keep {
				return a.demoServe(ctx)
			}
			return a.demo(ctx)
		})
	cmd.Flags().BoolVar(&keep, "serve", false, "instead keep a stand-in and all pages up, on free ports, until Ctrl-C")
	return cmd
}

// playground starts a stand-in on a free port, until stop is called, and configures the app for it. Settings for the
// real upstream must not leak in: only --data counts, and without it the data directory is a new one.
func (a *app) playground(ctx context.Context, costTable string) (sim *youtubesim.Server, stop func(), err error) {
	a.cfg = &config.Config{
		Jobs: config.DefaultJobs(providers["youtube"].limits), Account: "default", Data: a.flags.Data,
		Ledger: "sqlite", Store: "sqlite", Upstream: "youtube",
		CostTable: costTable, Hosts: 1, Concurrency: 4, StaleAfter: regions.DefaultStaleAfter,
	}
	if a.cfg.Data == "" {
		if a.cfg.Data, err = os.MkdirTemp("", "ingest-demo-"); err != nil {
			return nil, nil, fmt.Errorf("make a data directory: %w", err)
		}
	}
	if sim, err = youtubesim.New(youtubesim.Options{Seed: 1, Now: a.clock.Now, CostTable: costTable}); err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx)) // it answers as long as serve asks
	url, wait, err := youtubesim.Serve(ctx, "127.0.0.1:0", sim)
	a.cfg.UpstreamURL = url
	return sim, func() {
		cancel()
		if err == nil {
			_ = wait()
		}
	}, err
}

func (a *app) demo(ctx context.Context) (err error) {
	d := &demo.Walk{Out: a.stdout, Start: time.Now().Truncate(24 * time.Hour).Add(-7 * time.Hour), Move: a.clock.Move}
	a.clock.Move(d.Start)
	var stop func()
	if d.Sim, stop, err = a.playground(ctx, "classic"); err != nil {
		return err
	}
	defer stop()
	if config.FileExists(filepath.Join(a.cfg.Data, store.FileName)) {
		return usageError{fmt.Errorf("%s has a store already: give the demo a directory without one", a.cfg.Data)}
	}
	a.cfg.Jobs = a.cfg.Jobs[:1]
	runtime, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer runtime.close()
	gone, err := redisledger.Open(ctx, "redis://127.0.0.1:1/0", redisledger.Options{}) // nothing listens there
	if err != nil {
		return err
	}
	defer func() { _ = gone.Close() }()
	d.URL, d.Jobs, d.Store = a.cfg.UpstreamURL, runtime.schedule.Jobs[0], runtime.store
	d.Live, d.Down = runtime.ledger.Governor, gone
	d.Fetch = func() *fetch.Reconciler { return runtime.reconciler(a) }

	fmt.Fprintf(a.stdout, "Eight regions, one quota of 10,000 units a day, no key: a stand-in upstream in\n"+
		"this process, and a clock that this demo moves.\nData: %s\n", a.cfg.Data)
	if err := d.Run(ctx); err != nil {
		return err
	}
	fmt.Fprintf(a.stdout, "\nNext:\n  ingest search %s --data %s\n  ingest slots --data %[2]s\n"+
		"  ingest run --key-file youtube.key     # the real thing\n", d.Word, a.cfg.Data)
	return nil
}
