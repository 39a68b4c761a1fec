package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/trendvidstream/ingest/internal/web"
)

func (a *app) metricsCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "metrics",
		Short: "Print the figures once, in the text format of Prometheus",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withReadOnlyLedger(cmd.Context(), a.printMetrics)
		},
	}
}

func (a *app) printMetrics(ctx context.Context, l *ledger) error {
	pace, _, err := a.openPace(ctx)
	if err != nil {
		return err
	}
	s, err := a.readStore(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = s.Close() }()
	site := web.Site{Now: a.clock.Now, Schedule: pace.Schedule, Slots: serviceStore{s, a.clock.Now}, StaleAfter: a.cfg.StaleAfter}
	status := web.Status{
		Now: a.clock.Now, Version: version, Freshness: site.Freshness,
		Source: func() (*web.Source, error) { return a.source(l, s), nil },
	}
	return status.WriteMetrics(ctx, a.stdout)
}
