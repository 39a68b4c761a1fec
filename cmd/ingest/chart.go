package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/regions"
	"github.com/trendvidstream/ingest/store"
)

func (a *app) chartCommand() *cobra.Command {
	var at string
	var partial bool
	cmd := &cobra.Command{
		Use:   "chart REGION",
		Short: "A region's chart as it was last fetched; free",
		Long: `chart prints the newest finished chart of a region, or the one that stood at a
time: ranks and counts as they were then, names as they are now. History goes back 30 days: the provider wants older data deleted, and an
old chart cannot be fetched again.`,
		Example: "  ingest chart US\n  ingest chart DE --at 2026-11-01T09:00:00Z --json",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := a.checkClock(cmd.Context()); err != nil {
				return err
			}
			region, err := regions.Parse(args[0])
			if err != nil {
				return usageError{err}
			}
			var when time.Time
			if at != "" {
				if when, err = time.Parse(time.RFC3339, at); err != nil {
					return usageError{fmt.Errorf("--at %q is not an RFC 3339 time such as 2026-11-01T09:00:00Z", at)}
				}
			}
			s, err := a.store(cmd.Context(), "")
			if err != nil {
				return noStore(a.cfg.data, err)
			}
			defer func() { _ = s.Close() }()
			c, err := s.Chart(cmd.Context(), region, when, partial)
			if err != nil {
				return err
			}
			return a.printChart(region, c)
		},
	}
	cmd.Flags().StringVar(&at, "at", "", "the chart that stood at this RFC 3339 `time`, up to 30 days ago")
	cmd.Flags().BoolVar(&partial, "partial", false, "also a chart whose fetch was stopped half-way")
	return cmd
}

type chartDocument struct {
	Region    ingest.Region `json:"region"`
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
}

func (a *app) printChart(region ingest.Region, c store.Chart) error {
	if a.flags.json {
		doc := chartDocument{Region: region, Slot: c.Slot.UTC(), FetchedAt: timeOrNull(c.FetchedAt), Items: []chartItem{}}
		for _, p := range c.Items {
			doc.Items = append(doc.Items, newChartItem(p))
		}
		return a.printJSON(doc)
	}
	fmt.Fprintf(a.stdout, "%s, slot %s, fetched %s\n", region, stamp(c.Slot), stamp(c.FetchedAt))
	for _, p := range c.Items {
		if err := printVideo(a.stdout, fmt.Sprint(p.Rank), p.Video, nil); err != nil {
			return err
		}
	}
	return nil
}

func newChartItem(p ingest.Placement) chartItem {
	v := p.Video
	item := chartItem{
		Rank: p.Rank, VideoID: v.ID, Title: v.Title, Channel: v.Channel, ChannelID: v.ChannelID, Category: v.Category,
		PublishedAt: rfc3339(v.PublishedAt), DurationS: int64(v.Duration / time.Second), Live: v.Live, Tags: v.Tags,
		Thumbnail: v.Thumbnail, Views: v.Views, Likes: v.Likes, Comments: v.Comments,
	}
	if item.Tags == nil {
		item.Tags = []string{}
	}
	return item
}

func rfc3339(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}
