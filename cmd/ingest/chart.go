package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/internal/config"
	"github.com/trendvidstream/ingest/internal/report"
	"github.com/trendvidstream/ingest/internal/term"
	"github.com/trendvidstream/ingest/regions"
	"github.com/trendvidstream/ingest/store"
)

// chartFlags holds the flags of chart as given.
type chartFlags struct {
	at, compare config.Since
	job, format string
	partial     bool
	limit       int
}

func (a *app) chartCommand() *cobra.Command {
	var f chartFlags
	cmd := &cobra.Command{
		Use:   "chart REGION",
		Short: "A region's chart as it was last fetched; costs no quota",
		Args:  orAsk(cobra.ExactArgs(1), "which chart? Give one region, such as US"),
		RunE: func(cmd *cobra.Command, args []string) error {
			region, err := regions.Parse(args[0])
			if err != nil {
				return usageError{err}
			}
			return showChart(cmd.Context(), a, region, f)
		},
	}
	flags := cmd.Flags()
	flags.Var(config.SinceFlag(&f.at), "at", "the chart that stood at `T`, up to 29 days ago")
	flags.Var(config.SinceFlag(&f.compare), "compare", "what has changed since the chart that stood at `T`")
	flags.Var(config.Count(&f.limit, 1, 0), "limit", "at most the first `N` videos; a screen shows 20 without it")
	flags.StringVar(&f.job, "job", "", "of the chart job of this `name`")
	flags.Var(formatFlag(&f.format), "format", "text, json, csv or jsonl (JSON lines)")
	flags.BoolVar(&f.partial, "partial", false, "also a chart whose fetch was stopped half-way")
	return cmd
}

// chartScreen is how many videos of a chart a screen shows, unless it is told.
const chartScreen = 20

func showChart(ctx context.Context, a *app, region ingest.Region, f chartFlags) error {
	format, err := a.format(f.format)
	if err != nil {
		return err
	}
	now := a.clock.Now()
	if err := checkPast(now, f.at, f.compare); err != nil {
		return usageError{err}
	}
	return a.withStore(ctx, func(s *store.Store) error {
		c, err := findChart(ctx, s, a.cfg.Jobs, store.ChartQuery{Region: region, Job: f.job, At: f.at.At(now), Partial: f.partial})
		if err != nil {
			return err
		}
		all := len(c.Items)
		if f.limit == 0 {
			f.limit = all
			if format == formatText {
				f.limit = chartScreen
			}
		}
		if left := all - f.limit; left > 0 && format == formatText {
			defer a.say("and %s more: --limit %d", term.Thousands(int64(left)), all)
		}
		if f.compare.IsZero() {
			c.Items = c.Items[:min(f.limit, all)]
			return printAs(&a.console, format, newChartDocument(c), c.Items, func(p ingest.Placement) []term.Cell { return chartCells(c, p) })
		}
		older, err := s.FindChart(ctx, store.ChartQuery{Region: region, Job: c.Job, At: f.compare.At(now), Partial: f.partial})
		if err != nil {
			return fmt.Errorf("--compare: %w", err)
		}
		if older.Slot.Equal(c.Slot) {
			return usageError{fmt.Errorf("at both times the chart of slot %s stood: give --compare an earlier time", term.Stamp(c.Slot))}
		}
		moves := store.Compare(older, c)
		doc := report.NewMovesDocument(newChartDocument(c), older.Slot, moveItems(c, moves))
		doc.Items, doc.Gone = doc.Items[:min(f.limit, len(doc.Items))], doc.Gone[:min(f.limit, len(doc.Gone))]
		moves = slices.DeleteFunc(moves, func(m store.Move) bool { return m.Rank > f.limit })
		return printAs(&a.console, format, doc, moves, func(m store.Move) []term.Cell { return moveCells(older, c, m) })
	})
}

// checkPast refuses times in the future, which have no chart yet.
func checkPast(now time.Time, times ...config.Since) error {
	for _, t := range times {
		if t.At(now).After(now) {
			return fmt.Errorf("%s is in the future: it is %s now", t, term.Stamp(now))
		}
	}
	return nil
}

// findChart returns the chart of the requested job, or by default of chartJob. If that has none, it finds one of any
// job, also one that is no longer configured.
func findChart(ctx context.Context, s *store.Store, jobs []ingest.Job, q store.ChartQuery) (store.Chart, error) {
	given := q.Job != ""
	if !given {
		q.Job = chartJob(jobs, q.Region)
	}
	c, err := s.FindChart(ctx, q)
	if errors.Is(err, store.ErrNoChart) && !given {
		q.Job = ""
		return s.FindChart(ctx, q)
	}
	return c, err
}

// chartJob returns the job named chart, else the first that charts the region; "" if there is none.
func chartJob(jobs []ingest.Job, region ingest.Region) string {
	first := ""
	for _, job := range jobs {
		if job.Kind != ingest.KindChart || !slices.Contains(job.Regions, region) {
			continue
		}
		if job.Name == "chart" {
			return job.Name
		}
		first = cmp.Or(first, job.Name)
	}
	return first
}

func newChartDocument(c store.Chart) report.ChartDocument {
	doc := report.ChartDocument{Region: c.Region, Job: c.Job, Slot: term.Second(c.Slot), FetchedAt: term.TimeOrNull(c.FetchedAt), Items: []report.ChartItem{}}
	for _, p := range c.Items {
		doc.Items = append(doc.Items, newChartItem(c, p))
	}
	return doc
}

func newChartItem(c store.Chart, p ingest.Placement) report.ChartItem {
	v := p.Video
	return report.ChartItem{
		Rank: p.Rank, VideoID: v.ID, Title: v.Title, Channel: v.Channel, ChannelID: v.ChannelID, Category: v.Category,
		PublishedAt: term.TimeOrNull(v.PublishedAt), DurationS: int64(v.Duration / time.Second), Live: v.Live, Tags: append([]string{}, v.Tags...),
		Thumbnail: v.Thumbnail, Views: v.Views, Likes: v.Likes, Comments: v.Comments, Named: c.Categories[v.Category],
	}
}

// chartCells returns a row of an exported chart.
func chartCells(c store.Chart, p ingest.Placement) []term.Cell {
	row := []term.Cell{{Name: "region", Value: string(c.Region)}, {Name: "job", Value: c.Job}, {Name: "slot", Value: c.Slot}}
	return append(row, term.CellsOf(newChartItem(c, p))...)
}

func moveItems(newer store.Chart, moves []store.Move) (items []report.MoveItem) {
	for _, m := range moves {
		item := report.MoveItem{ChartItem: newChartItem(newer, m.Placement), Change: string(m.Change), ViewsGained: m.Gained}
		if m.Was > 0 {
			item.WasRank = &m.Was
		}
		items = append(items, item)
	}
	return items
}

// moveCells returns a row of an exported comparison. A video that is gone has no rank.
func moveCells(older, newer store.Chart, m store.Move) []term.Cell {
	row := chartCells(newer, m.Placement)
	var was any
	if m.Was > 0 {
		was = m.Was
	}
	if m.Change == store.Gone {
		term.SetCell(row, "rank", nil)
	}
	return append(row,
		term.Cell{Name: "compared_to", Value: older.Slot},
		term.Cell{Name: "change", Value: string(m.Change)},
		term.Cell{Name: "was_rank", Value: was},
		term.Cell{Name: "views_gained", Value: m.Gained},
	)
}
