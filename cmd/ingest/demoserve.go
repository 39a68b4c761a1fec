package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"time"

	"github.com/trendvidstream/ingest/fetch"
	"github.com/trendvidstream/ingest/internal/config"
	"github.com/trendvidstream/ingest/internal/youtubesim"
	"github.com/trendvidstream/ingest/regions"
	"github.com/trendvidstream/ingest/store"
)

// demoPast is how far back the charts go that a new trial begins with.
const demoPast = 2 * time.Hour

// demoServe keeps a stand-in and ingest serve up, both on free ports of this machine, until a signal ends them. The
// settings for the real upstream must not leak into it: only --data is heard.
func (a *app) demoServe(ctx context.Context) error {
	sim, err := youtubesim.New(youtubesim.Options{Seed: 1, Now: a.clock.Now})
	if err != nil {
		return err
	}
	simCtx, stop := context.WithCancel(context.WithoutCancel(ctx)) // it answers as long as serve asks
	url, wait, err := serve(simCtx, "127.0.0.1:0", sim)
	if err != nil {
		stop()
		return err
	}
	defer func() { stop(); _ = wait() }()
	a.cfg = &config.Config{
		Jobs: config.DefaultJobs(providers["youtube"].limits), Account: "default", Ledger: "sqlite", Store: "sqlite", Upstream: "youtube", UpstreamURL: url,
		Hosts: 1, Concurrency: 4, StaleAfter: regions.DefaultStaleAfter, Pacing: true,
	}
	if a.cfg.Data, err = a.demoData(); err != nil {
		return err
	}
	if !config.FileExists(filepath.Join(a.cfg.Data, store.FileName)) {
		if err := a.fetchPast(ctx); err != nil {
			return err
		}
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("listen on this machine: %w", err)
	}
	fmt.Fprintf(a.stdout, "The pages: http://%s/\nThe data:  %s, so that  ingest quota --data %s  shows the same\nThe stand-in for YouTube: %s. Ctrl-C ends all of it.\n",
		l.Addr(), a.cfg.Data, a.cfg.Data, url)
	err = a.serveAt(ctx, l)
	if ended := (signalled{}); errors.As(err, &ended) {
		return nil // as a trial is meant to end
	}
	return err
}

// fetchPast fetches the charts of the last hours, with a moved clock, so that the trial has ranks that have moved.
func (a *app) fetchPast(ctx context.Context) error {
	a.say("fetching the charts of the last %.0f hours from a fake YouTube", demoPast.Hours())
	now := time.Now()
	a.clock.Move(now.Add(-demoPast))
	defer a.clock.Restore()
	runtime, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer runtime.close()
	for _, key := range runtime.schedule.Jobs[0].Between(now.Add(-demoPast), now) {
		a.clock.Move(key.DueAt)
		if _, err := runtime.reconciler(a).Run(ctx, fetch.RunOptions{}); err != nil {
			return err
		}
	}
	return nil
}
