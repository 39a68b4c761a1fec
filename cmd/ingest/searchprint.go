package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/internal/term"
	"github.com/trendvidstream/ingest/store"
	"github.com/trendvidstream/ingest/store/text"
)

// printSearch prints a page of a search in 80 columns.
func printSearch(out *console, q store.Query, r store.Result, brackets bool) error {
	m := out.marker(brackets)
	for _, h := range r.Items {
		line := term.Pad(h.Video.ID, 12) + m.Pad(h.Video.Title, h.Highlight, 34) + " " + term.Pad(h.Video.Channel, 14) + " " + searchTail(q.Order, h)
		if _, err := fmt.Fprintln(out.stdout, strings.TrimRight(line, " ")); err != nil {
			return err
		}
	}
	if r.Capped {
		out.say("many videos match: these are the best of the newest ones; add a word to narrow it down")
	}
	if r.Next != "" {
		out.say("more: --after %s", r.Next)
	}
	return nil
}

// searchTail is the end of a line, 18 columns: what the order goes by, or the regions.
func searchTail(o store.Order, h store.Hit) string {
	switch o {
	case store.ByViews:
		return fmt.Sprintf("%17s", term.Count(h.Video.Views))
	case store.ByRise:
		return fmt.Sprintf("%17s", term.Gain(h.Gained))
	case store.ByFreshness:
		return h.SeenAt.UTC().Format("2006-01-02 15:04Z")
	default:
		return regionsText(h.Regions)
	}
}

func regionsText(in []ingest.Region) string {
	const most = 3 // that are named; the others are counted
	var codes []string
	for _, r := range in[:min(most, len(in))] {
		codes = append(codes, string(r))
	}
	if len(in) > most {
		codes = append(codes, fmt.Sprintf("+%d", len(in)-most))
	}
	return strings.Join(codes, " ")
}

// marker is bold on a terminal, brackets where they are asked for, and otherwise nothing.
func (c *console) marker(brackets bool) term.Marker {
	switch {
	case brackets:
		return term.Brackets
	case term.IsTerminal(c.stdout) && !c.noColor && os.Getenv("NO_COLOR") == "":
		return term.Bold
	}
	return term.Marker{}
}

// searchDocument is a page of a search in JSON.
type searchDocument struct {
	Query  string       `json:"query"`
	Looked string       `json:"looked_for"` // the query as it was understood
	Capped bool         `json:"capped"`
	Next   *string      `json:"next"` // --after of the next page
	Items  []searchItem `json:"items"`
}

type searchItem struct {
	VideoID     string          `json:"video_id"`
	Title       string          `json:"title"`
	Highlight   []text.Span     `json:"highlight"` // [start, end) in characters of title
	Channel     string          `json:"channel"`
	ChannelID   string          `json:"channel_id"`
	Category    string          `json:"category"`
	PublishedAt string          `json:"published_at"`
	SeenAt      string          `json:"seen_at"`
	Views       *int64          `json:"views"`
	ViewsGained *int64          `json:"views_gained,omitempty"` // with --order rise
	Regions     []ingest.Region `json:"regions"`
	Score       float64         `json:"score"`
}

func newSearchDocument(q store.Query, r store.Result) searchDocument {
	doc := searchDocument{Query: q.Text, Looked: r.Looked, Capped: r.Capped, Items: []searchItem{}}
	if r.Next != "" {
		doc.Next = &r.Next
	}
	for _, h := range r.Items {
		v := h.Video
		doc.Items = append(doc.Items, searchItem{
			VideoID: v.ID, Title: v.Title, Highlight: append([]text.Span{}, h.Highlight...), Channel: v.Channel, ChannelID: v.ChannelID, Category: v.Category,
			PublishedAt: rfc3339(v.PublishedAt), SeenAt: rfc3339(h.SeenAt), Views: v.Views, ViewsGained: h.Gained,
			Regions: append([]ingest.Region{}, h.Regions...), Score: h.Score,
		})
	}
	return doc
}
