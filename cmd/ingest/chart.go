package main

import (
	"context"
	"slices"

	"github.com/spf13/cobra"

	"github.com/trendvidstream/ingest/internal/config"
	"github.com/trendvidstream/ingest/internal/documents"
	"github.com/trendvidstream/ingest/internal/term"
	"github.com/trendvidstream/ingest/regions"
	"github.com/trendvidstream/ingest/store"
)

func (a *app) chartCommand() *cobra.Command {
	var q documents.ChartQuery
	var at, compare config.Since
	var format string
	cmd := command("chart REGION", "A region's chart as it was last fetched; costs no quota",
		orAsk(cobra.ExactArgs(1), "which chart? Give one region, such as US"),
		func(ctx context.Context, args []string) (err error) {
			if q.Region, err = regions.Parse(args[0]); err != nil {
				return usageError{err}
			}
			if err := q.Complete(a.clock.Now(), at, compare); err != nil {
				return usageError{err}
			}
			return showChart(ctx, a, q, format)
		})
	documents.AddChartFlags(cmd.Flags(), &q, &at, &compare)
	documents.AddLengthFlags(cmd.Flags(), &q.Filter.Length)
	cmd.Flags().Var(formatFlag(&format), "format", "text, json, csv or jsonl (JSON lines)")
	return cmd
}

// chartScreen is how many videos of a chart a screen shows without --limit.
const chartScreen = 20

func showChart(ctx context.Context, a *app, q documents.ChartQuery, given string) error {
	format, err := a.format(given)
	if err != nil {
		return err
	}
	limit := q.Limit
	if q.Limit = 0; limit == 0 && format == formatText {
		limit = chartScreen
	}
	return a.withStore(ctx, func(ctx context.Context, s *store.Store) error {
		doc, err := a.reader(s).Chart(ctx, q)
		if err != nil {
			return asUsageError(err)
		}
		all := len(doc.ChartDocument.Items)
		if left := all - limit; limit > 0 && left > 0 && format == formatText {
			defer a.say("and %s more: --limit %d", term.Thousands(int64(left)), all)
		}
		if doc = doc.First(limit); !doc.Compared() {
			return printAs(&a.console, format, doc.ChartDocument, doc.ChartDocument.Items, doc.ChartCells)
		}
		return printAs(&a.console, format, doc, slices.Concat(doc.Items, doc.Gone), doc.MoveCells)
	})
}
