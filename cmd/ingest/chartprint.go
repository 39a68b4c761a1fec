package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/internal/term"
	"github.com/trendvidstream/ingest/store"
)

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
	return export(out.stdout, format, c.Items, func(p ingest.Placement) []cell { return chartCells(c, p) })
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
	doc := chartDocument{Region: c.Region, Job: c.Job, Slot: c.Slot.UTC(), FetchedAt: timeOrNull(c.FetchedAt), Items: []chartItem{}}
	for _, p := range c.Items {
		doc.Items = append(doc.Items, newChartItem(c, p))
	}
	return doc
}

func newChartItem(c store.Chart, p ingest.Placement) chartItem {
	v := p.Video
	return chartItem{
		Rank: p.Rank, VideoID: v.ID, Title: v.Title, Channel: v.Channel, ChannelID: v.ChannelID, Category: v.Category,
		PublishedAt: rfc3339(v.PublishedAt), DurationS: int64(v.Duration / time.Second), Live: v.Live, Tags: append([]string{}, v.Tags...),
		Thumbnail: v.Thumbnail, Views: v.Views, Likes: v.Likes, Comments: v.Comments, Named: c.Categories[v.Category],
	}
}

// chartCells is a row of an exported chart.
func chartCells(c store.Chart, p ingest.Placement) []cell {
	row := []cell{{"region", string(c.Region)}, {"job", c.Job}, {"slot", c.Slot}}
	row = append(row, cellsOf(newChartItem(c, p))...)
	setCell(row, "published_at", p.Video.PublishedAt)
	return row
}
