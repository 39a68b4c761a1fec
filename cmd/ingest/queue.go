package main

import (
	"cmp"
	"context"
	"errors"
	"log/slog"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/fetch"
	"github.com/trendvidstream/ingest/internal/config"
	"github.com/trendvidstream/ingest/internal/queue"
	"github.com/trendvidstream/ingest/internal/service"
	"github.com/trendvidstream/ingest/regions"
	"github.com/trendvidstream/ingest/store/pgstore"
)

// shareWork lets the queue of all machines that share the store dispatch this process's workers; a SQLite store has
// none.
func (a *app) shareWork(ctx context.Context, r *service.Runtime, log *slog.Logger) error {
	if a.cfg.Store == "sqlite" {
		return nil
	}
	if a.clock.Moved {
		return errors.New("INGEST_NOW moves the clock of one process, and the queue in PostgreSQL serves many: use ingest run")
	}
	q, err := queue.Open(ctx, queue.Options{
		URL: ingest.NewSecret(a.cfg.Store), Version: pgstore.SchemaVersion(), Name: config.RunName(), Workers: a.cfg.Concurrency, Pumps: a.cfg.Concurrency,
		Every: regions.Heartbeat, Rescue: cmp.Or(r.Reconciler().Lease, fetch.DefaultLease), Now: a.clock.Now, Log: log,
	})
	if err != nil {
		return err
	}
	r.Queue = func(ctx context.Context, w *service.Queued) (trigger, wait func(), err error) { return q.Serve(ctx, w) }
	closeStore := r.Close
	r.Close = func() { q.Close(); closeStore() }
	return nil
}
