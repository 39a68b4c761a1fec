package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/trendvidstream/ingest/internal/web"
	"github.com/trendvidstream/ingest/quota"
)

func (a *app) metricsCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "metrics",
		Short: "Print the figures once, in the text format of Prometheus",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withReadOnlyGovernor(cmd.Context(), a.printMetrics)
		},
	}
}

func (a *app) printMetrics(ctx context.Context, g *quota.Governor) error {
	p, _, err := a.pacing(ctx)
	if err != nil {
		return err
	}
	s, err := a.readStore(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = s.Close() }()
	site := web.Site{Now: a.clock.Now, Schedule: p, Slots: serviceStore{s, a.clock.Now}, StaleAfter: a.cfg.StaleAfter}
	status := web.Status{
		Now: a.clock.Now, Version: version, Freshness: site.Freshness,
		Source: func() (*web.Source, error) { return a.source(g, s), nil },
	}
	return status.WriteMetrics(ctx, a.stdout)
}
