package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/internal/term"
	"github.com/trendvidstream/ingest/regions"
	"github.com/trendvidstream/ingest/store"
)

// chartFlags are the flags of chart, as they were given.
type chartFlags struct {
	at, compare, job, format string
	partial                  bool
}

func (a *app) chartCommand() *cobra.Command {
	var f chartFlags
	cmd := &cobra.Command{
		Use:   "chart REGION",
		Short: "A region's chart as it was last fetched; free",
		Long: `chart prints the newest finished chart of a region, or the one that stood at a
time: ranks and counts as they were then, names as they are now. With --compare
it says what is new, risen, fallen and gone since another time. History goes
back 30 days: the provider wants older data deleted, and an old chart cannot be
fetched again.

T is a time: 24h or 7d ago, a day such as 2026-02-14, or RFC 3339. Without --job
it is the job named chart, else the first chart job of the region. In CSV, text
that a spreadsheet would take for a formula begins with an apostrophe.`,
		Example: `  ingest chart US
  ingest chart DE --at 2026-11-01T09:00:00Z --json
  ingest chart IN --compare 24h
  ingest chart BR --format csv > br.csv`,
		Args: orAsk(cobra.ExactArgs(1), "which chart? Give one region, such as US"),
		RunE: func(cmd *cobra.Command, args []string) error {
			region, err := regions.Parse(args[0])
			if err != nil {
				return usageError{err}
			}
			return showChart(cmd.Context(), a, region, f)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.at, "at", "", "the chart that stood at `T`, up to 30 days ago")
	flags.StringVar(&f.compare, "compare", "", "what has changed since the chart that stood at `T`")
	flags.StringVar(&f.job, "job", "", "of the chart job of this `name`")
	flags.StringVar(&f.format, "format", "", "text, json, csv or jsonl (JSON lines)")
	flags.BoolVar(&f.partial, "partial", false, "also a chart whose fetch was stopped half-way")
	return cmd
}

func showChart(ctx context.Context, a *app, region ingest.Region, f chartFlags) error {
	format, err := a.format(f.format)
	if err != nil {
		return err
	}
	now := a.clock.Now()
	at, err := timeFlag("at", f.at, now)
	if err != nil {
		return err
	}
	since, err := timeFlag("compare", f.compare, now)
	if err != nil {
		return err
	}
	s, err := a.readStore(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = s.Close() }()
	c, err := findChart(ctx, s, a.cfg.Jobs, store.ChartQuery{Region: region, Job: f.job, At: at, Partial: f.partial})
	if err != nil {
		return err
	}
	if f.compare == "" {
		return printChart(&a.console, c, format)
	}
	older, err := s.FindChart(ctx, store.ChartQuery{Region: region, Job: c.Job, At: since, Partial: f.partial})
	if err != nil {
		return fmt.Errorf("--compare: %w", err)
	}
	if older.Slot.Equal(c.Slot) {
		return usageError{fmt.Errorf("at both times the chart of slot %s stood: give --compare an earlier time", term.Stamp(c.Slot))}
	}
	return printMoves(&a.console, older, c, format)
}

// findChart is the chart of the job that is asked for. Of several jobs that chart a region the config says which comes
// first. What a job fetched that is no longer configured is found where no other has a chart.
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

// chartJob is the job named chart, else the first that charts the region; "" for none.
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

type chartDocument struct {
	Region    ingest.Region `json:"region"`
	Job       string        `json:"job"`
	Slot      time.Time     `json:"slot"`
	FetchedAt *time.Time    `json:"fetched_at"`
	Items     []chartItem   `json:"items"`
}

type chartItem struct {
	Rank        int      `json:"rank"`
	VideoID     string   `json:"video_id"`
	Title       string   `json:"title"`
	Channel     string   `json:"channel"`
	ChannelID   string   `json:"channel_id"`
	Category    string   `json:"category"`
	PublishedAt string   `json:"published_at"`
	DurationS   int64    `json:"duration_s"`
	Live        bool     `json:"live"`
	Tags        []string `json:"tags"`
	Thumbnail   string   `json:"thumbnail"`
	Views       *int64   `json:"views"`
	Likes       *int64   `json:"likes"`
	Comments    *int64   `json:"comments"`
	Named       string   `json:"category_name"` // "" before the upstream was asked
}

func printChart(out *console, c store.Chart, format string) error {
	switch format {
	case formatJSON:
		return out.printJSON(newChartDocument(c))
	case formatText:
		fmt.Fprintln(out.stdout, chartHead(c))
		for _, p := range c.Items {
			line := fmt.Sprintf("%3d %s%s %s %13s", p.Rank, term.Pad(p.Video.ID, 12), term.Pad(p.Video.Title, 34), term.Pad(p.Video.Channel, 14), term.Count(p.Video.Views))
			fmt.Fprintln(out.stdout, strings.TrimRight(line, " "))
		}
		return nil
	}
	return export(out.stdout, format, c.Items, func(p ingest.Placement) []term.Cell { return chartCells(c, p) })
}

// chartHead names a chart in a line.
func chartHead(c store.Chart) string {
	head := fmt.Sprintf("%s, slot %s, fetched %s", c.Region, term.Stamp(c.Slot), term.Stamp(c.FetchedAt))
	if c.Job != "chart" {
		head += ", job " + term.Fit(c.Job, 13)
	}
	return head
}

func newChartDocument(c store.Chart) chartDocument {
	doc := chartDocument{Region: c.Region, Job: c.Job, Slot: c.Slot.UTC(), FetchedAt: term.TimeOrNull(c.FetchedAt), Items: []chartItem{}}
	for _, p := range c.Items {
		doc.Items = append(doc.Items, newChartItem(c, p))
	}
	return doc
}

func newChartItem(c store.Chart, p ingest.Placement) chartItem {
	v := p.Video
	return chartItem{
		Rank: p.Rank, VideoID: v.ID, Title: v.Title, Channel: v.Channel, ChannelID: v.ChannelID, Category: v.Category,
		PublishedAt: term.RFC3339(v.PublishedAt), DurationS: int64(v.Duration / time.Second), Live: v.Live, Tags: append([]string{}, v.Tags...),
		Thumbnail: v.Thumbnail, Views: v.Views, Likes: v.Likes, Comments: v.Comments, Named: c.Categories[v.Category],
	}
}

// chartCells is a row of an exported chart.
func chartCells(c store.Chart, p ingest.Placement) []term.Cell {
	row := []term.Cell{{Name: "region", Value: string(c.Region)}, {Name: "job", Value: c.Job}, {Name: "slot", Value: c.Slot}}
	row = append(row, term.CellsOf(newChartItem(c, p))...)
	term.SetCell(row, "published_at", p.Video.PublishedAt)
	return row
}
