package report

import (
	"time"

	"github.com/trendvidstream/ingest"
)

// SearchDocument is a page of a search.
type SearchDocument struct {
	Query  string       `json:"query"`
	Looked string       `json:"looked_for"` // the query as it was understood
	Capped bool         `json:"capped"`
	Next   *string      `json:"next"` // the cursor of the next page
	Items  []SearchItem `json:"items"`
}

// SearchItem is one result of a search.
type SearchItem struct {
	VideoID     string          `json:"video_id"`
	Title       string          `json:"title"`
	Highlight   [][2]int        `json:"highlight"` // [start, end) in characters of title
	Channel     string          `json:"channel"`
	ChannelID   string          `json:"channel_id"`
	Category    string          `json:"category"`
	PublishedAt *time.Time      `json:"published_at"`
	SeenAt      *time.Time      `json:"seen_at"`
	Views       *int64          `json:"views"`
	ViewsGained *int64          `json:"views_gained,omitempty"` // with the order rise
	Regions     []ingest.Region `json:"regions"`
	Score       float64         `json:"score"`
}

// ChartDocument is a region's chart as it was fetched.
type ChartDocument struct {
	Region    ingest.Region `json:"region"`
	Job       string        `json:"job"`
	Slot      time.Time     `json:"slot"`
	FetchedAt *time.Time    `json:"fetched_at"`
	Items     []ChartItem   `json:"items"`
}

// ChartItem is a place in a chart.
type ChartItem struct {
	Rank        int        `json:"rank"`
	VideoID     string     `json:"video_id"`
	Title       string     `json:"title"`
	Channel     string     `json:"channel"`
	ChannelID   string     `json:"channel_id"`
	Category    string     `json:"category"`
	PublishedAt *time.Time `json:"published_at"`
	DurationS   int64      `json:"duration_s"`
	Live        bool       `json:"live"`
	Tags        []string   `json:"tags"`
	Thumbnail   string     `json:"thumbnail"`
	Views       *int64     `json:"views"`
	Likes       *int64     `json:"likes"`
	Comments    *int64     `json:"comments"`
	Named       string     `json:"category_name"` // "" until the names were fetched
}

// MovesDocument is a chart compared with an older one. Its items say how they moved.
type MovesDocument struct {
	ChartDocument

	ComparedTo time.Time      `json:"compared_to"` // the slot of the older chart
	Changes    map[string]int `json:"changes"`
	Items      []MoveItem     `json:"items"` // the newer chart
	Gone       []MoveItem     `json:"gone"`  // with the rank and the counts they had
}

// MoveItem is a video that is in one of two charts.
type MoveItem struct {
	ChartItem

	Change      string `json:"change"`
	WasRank     *int   `json:"was_rank"`
	ViewsGained *int64 `json:"views_gained"`
}

// NewMovesDocument separates the moves: videos gone from the newer chart, and the rest.
func NewMovesDocument(newer ChartDocument, comparedTo time.Time, moves []MoveItem) MovesDocument {
	doc := MovesDocument{ChartDocument: newer, ComparedTo: comparedTo.UTC(), Changes: map[string]int{}, Items: []MoveItem{}, Gone: []MoveItem{}}
	for _, c := range changes {
		doc.Changes[c] = 0
	}
	for _, m := range moves {
		if doc.Changes[m.Change]++; m.Change == "gone" {
			doc.Gone = append(doc.Gone, m)
		} else {
			doc.Items = append(doc.Items, m)
		}
	}
	return doc
}

// HistoryDocument is a video's path through the charts.
type HistoryDocument struct {
	VideoID     string             `json:"video_id"`
	Title       string             `json:"title"`
	Channel     string             `json:"channel"`
	PublishedAt *time.Time         `json:"published_at"`
	Sightings   []SightingDocument `json:"sightings"`
}

// SightingDocument is a video's place in one chart.
type SightingDocument struct {
	Region      ingest.Region `json:"region"`
	Job         string        `json:"job"`
	Slot        time.Time     `json:"slot"`
	Rank        int           `json:"rank"`
	Views       *int64        `json:"views"`
	Likes       *int64        `json:"likes"`
	Comments    *int64        `json:"comments"`
	ViewsGained *int64        `json:"views_gained"`
}
