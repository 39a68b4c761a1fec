package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/trendvidstream/ingest/internal/report"
	"github.com/trendvidstream/ingest/internal/web"
	"github.com/trendvidstream/ingest/store"
)

func (a *app) metricsCommand() *cobra.Command {
	return command("metrics", "Print the figures once, in the text format of Prometheus",
		noArgs, func(ctx context.Context, _ []string) error {
			read := false
			err := a.withReadOnlyLedger(ctx, func(ctx context.Context, l *ledger) error {
				read = true
				return a.printMetrics(ctx, func(s *store.Store) *web.Source { return a.source(l, s) })
			})
			if read || exitCode(err) != exitUnavailable {
				return err
			}
			return a.printMetrics(ctx, func(s *store.Store) *web.Source { return a.storeSource(s, func() error { return err }) })
		})
}

// printMetrics prints what the ledger and the store say through that source. What cannot be read is left out, and
// source_readable says so; a store that cannot be read is an error all the same.
func (a *app) printMetrics(ctx context.Context, source func(*store.Store) *web.Source) error {
	var st standing
	s, storeErr := a.readStore(ctx)
	if storeErr == nil {
		defer func() { _ = s.Close() }()
		var err error
		if st, err = a.openStanding(ctx); err != nil {
			return err
		}
	}
	from := source(s)
	if storeErr != nil {
		from.Slots = func(context.Context, time.Time) ([]report.SlotDocument, error) { return nil, storeErr }
	}
	status := web.Status{
		Now: a.clock.Now, Version: version, Freshness: a.freshSite(s, st.pace.Schedule).Freshness,
		Source: func() (*web.Source, error) { return from, nil },
	}
	return status.WriteMetrics(ctx, a.stdout)
}
