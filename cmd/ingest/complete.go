package main

import (
	"context"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/internal/documents"
	"github.com/trendvidstream/ingest/internal/report"
	"github.com/trendvidstream/ingest/internal/term"
	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/store"
)

// Completion of arguments and flags, from the config, the costs and the store. A source that cannot be read completes
// nothing.

func (a *app) complete(root *cobra.Command) {
	methods := fromTariff(func(t *quota.Tariff) []string { return slices.Sorted(maps.Keys(t.Methods)) })
	pools := fromTariff((*quota.Tariff).PoolNames)
	for path, list := range map[string]lister{
		"chart": regionsOf, "history": videosOf, "quota take": methods, "quota post": pools, "quota drain": pools,
		"backfill run": backfillsOf, "backfill status": backfillsOf, "backfill cancel": backfillsOf,
		"backfill retry": backfillsOf,
	} {
		cmd, _, _ := root.Find(strings.Fields(path)) // it exists
		cmd.ValidArgsFunction = a.completion(list, 1)
	}
}

// refuseUnknownShells makes completion for an unknown shell a usage error; cobra would print help. Call it after the
// root's output is set: completions are written there.
func refuseUnknownShells(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	if cmd, _, err := root.Find([]string{"completion"}); err == nil {
		cmd.Args, cmd.RunE = noArgs, func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	}
}

// lister lists the possible values; a tab separates a value from its description.
type lister func(context.Context, *app) ([]string, error)

// anywhere, for flags, is more than any number of arguments.
const anywhere = math.MaxInt

// completion completes as many arguments as first says.
func (a *app) completion(list lister, first int) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		a.begin(cmd)
		if len(args) >= first || a.loadConfig(cmd) != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		a.quiet = true
		values, _ := list(cmd.Context(), a)
		return values, cobra.ShellCompDirectiveNoFileComp
	}
}

func regionsOf(_ context.Context, a *app) ([]string, error) {
	return slices.Sorted(slices.Values(a.cfg.RegionCodes())), nil
}

func fromTariff(names func(*quota.Tariff) []string) lister {
	return func(_ context.Context, a *app) ([]string, error) {
		t, err := a.tariff()
		if err != nil {
			return nil, err
		}
		return names(t), nil
	}
}

// videosOf returns the videos at the top of the newest charts.
func videosOf(ctx context.Context, a *app) (ids []string, err error) {
	known := map[string]bool{}
	return ids, a.withStore(ctx, func(ctx context.Context, s *store.Store) error {
		for _, region := range a.cfg.RegionCodes() {
			c, err := a.reader(s).Chart(ctx,
				documents.ChartQuery{ChartQuery: store.ChartQuery{Region: ingest.Region(region)}, Limit: topOfChart})
			if err != nil {
				continue // not charted yet
			}
			for _, v := range c.ChartDocument.Items {
				if id := v.VideoID; !known[id] {
					known[id] = true
					ids = append(ids, id+"\t"+term.Clean(v.Title))
				}
			}
		}
		return nil
	})
}

// topOfChart is how many videos of a chart are offered: as many as fit on a screen.
const topOfChart = 20

func backfillsOf(ctx context.Context, a *app) (ids []string, err error) {
	return ids, a.withStore(ctx, func(ctx context.Context, s *store.Store) error {
		list, err := s.Backfills(ctx)
		for _, b := range list {
			ids = append(ids, b.ID+"\t"+report.BackfillText(b.Backfill))
		}
		return err
	})
}
