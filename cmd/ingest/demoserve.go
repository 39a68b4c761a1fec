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
	"github.com/trendvidstream/ingest/store"
)

// demoPast is how far back the charts of a new trial go.
const demoPast = 2 * time.Hour

// demoServe runs a stand-in and ingest serve, both on free ports of this machine, until a signal ends them.
func (a *app) demoServe(ctx context.Context) error {
	_, stop, err := a.playground(ctx, "")
	if err != nil {
		return err
	}
	defer stop()
	a.cfg.Pacing = true
	if !config.FileExists(filepath.Join(a.cfg.Data, store.FileName)) {
		if err := a.fetchPast(ctx); err != nil {
			return err
		}
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("listen on this machine: %w", err)
	}
	fmt.Fprintf(a.stdout, "The pages: http://%s/\nThe data:  %s; "+
		" ingest quota --data %s  reads the same data\nThe stand-in for YouTube: %s. Ctrl-C ends the trial.\n",
		l.Addr(), a.cfg.Data, a.cfg.Data, a.cfg.UpstreamURL)
	err = a.serve(ctx, l)
	if errors.As(err, new(signalled)) {
		return nil // a trial ends with a signal
	}
	return err
}

// fetchPast sets the clock back and fetches the charts of the last hours, so that the trial shows changes of rank.
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
