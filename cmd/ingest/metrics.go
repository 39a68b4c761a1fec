package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/trendvidstream/ingest/internal/web"
	"github.com/trendvidstream/ingest/store"
)

func (a *app) metricsCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "metrics",
		Short: "Print the figures once, in the text format of Prometheus",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			err := a.withReadOnlyLedger(cmd.Context(), func(ctx context.Context, l *ledger) error {
				return a.printMetrics(ctx, func(s *store.Store) *web.Source { return a.source(l, s) })
			})
			if exitCode(err) != exitUnavailable {
				return err
			}
			return a.printMetrics(cmd.Context(), func(s *store.Store) *web.Source { return a.storeSource(s, func() error { return err }) })
		},
	}
}

// printMetrics prints what the source of the store says. source_readable says whether the ledger could be read.
func (a *app) printMetrics(ctx context.Context, source func(*store.Store) *web.Source) error {
	pace, _, err := a.openPace(ctx)
	if err != nil {
		return err
	}
	s, err := a.readStore(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = s.Close() }()
	status := web.Status{
		Now: a.clock.Now, Version: version, Freshness: a.freshSite(s, pace.Schedule).Freshness,
		Source: func() (*web.Source, error) { return source(s), nil },
	}
	return status.WriteMetrics(ctx, a.stdout)
}
