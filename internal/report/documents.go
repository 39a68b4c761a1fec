package report

import (
	"context"
	"errors"
	"net/url"
	"time"

	"github.com/trendvidstream/ingest"
)

// VideoDocument is a video in a list, as it was last fetched. In a chart, its counts are those at the slot.
type VideoDocument struct {
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
	Named       string     `json:"category_name"` // "": not known
	URL         string     `json:"url"`           // the video's page at the provider
}

// SearchDocument is a page of a search, as ingest search prints it. Next asks for the page after it.
type SearchDocument struct {
	Query       string          `json:"query"`
	Interpreted string          `json:"looked_for"` // the query as it was understood
	Forgiven    bool            `json:"forgiven"`   // little was found as typed: looked_for is another query
	Hint        string          `json:"hint"`       // why nothing was searched; "": something was
	Capped      bool            `json:"capped"`
	Next        *string         `json:"next"` // the cursor of the next page
	Items       []SearchItem    `json:"items"`
	Counts      *CountsDocument `json:"counts,omitempty"` // on request
}

// SearchItem is one result of a search.
type SearchItem struct {
	VideoDocument

	Highlight   [][2]int        `json:"highlight"` // [start, end) in characters of title
	SeenAt      *time.Time      `json:"seen_at"`
	ViewsGained *int64          `json:"views_gained,omitempty"` // with the order rise
	Regions     []ingest.Region `json:"regions"`
	Score       float64         `json:"score"`
}

// CountsDocument says how many videos a search finds and, for each value of a filter, how many it would find with that
// value instead. Value "" stands for no filter.
type CountsDocument struct {
	Matches    int             `json:"matches"`
	AtLeast    bool            `json:"at_least"` // only the newest matches were counted
	Regions    []CountDocument `json:"region"`
	Categories []CountDocument `json:"category"`
	Published  []CountDocument `json:"published_since"`
	Views      []CountDocument `json:"min_views"`
	Lengths    []CountDocument `json:"length"`
}

// CountDocument is how many hits a search would keep with one more filter.
type CountDocument struct {
	Value  string `json:"value"`
	Name   string `json:"name,omitempty"`
	Videos int    `json:"videos"`
}

// ChartDocument is a region's chart as it was fetched, without its items. MovesDocument adds them.
type ChartDocument struct {
	Region    ingest.Region `json:"region"`
	Job       string        `json:"job"`
	Slot      time.Time     `json:"slot"`
	FetchedAt *time.Time    `json:"fetched_at"`
	Partial   bool          `json:"partial"`         // its fetch was stopped half-way, or came back far shorter than usual
	Earlier   *time.Time    `json:"earlier_slot"`    // of the previous chart; null: none is kept
	Later     *time.Time    `json:"later_slot"`      // of the next chart
	DayBefore *time.Time    `json:"day_before_slot"` // of the newest chart that is at least a day older

	// ShortSince is the slot since which the upstream has given no whole chart, so that an older one is shown; null: it
	// has, or a time was asked for. ShortVideos is how many videos it gave last.
	ShortSince  *time.Time `json:"short_since,omitempty"`
	ShortVideos int        `json:"short_videos,omitempty"`

	Items []ChartItem `json:"items"`
}

// ChartItem is a place in a chart: a video, its rank and, on request, its other places.
type ChartItem struct {
	Rank int `json:"rank"`
	VideoDocument
	Also []PlaceDocument `json:"also_in,omitempty"` // on request: its places in other regions, best first
	CourseDocument
}

// CourseDocument is a video's way through the kept charts of a region and a job, up to the one shown; on request.
type CourseDocument struct {
	Since *time.Time `json:"charted_since,omitempty"` // the slot of the first chart that has it
	Peak  int        `json:"peak,omitempty"`          // its best rank
	// of the charts of the last 24 hours, oldest first; 0: it was not in that chart
	Ranks []int `json:"ranks_24h,omitempty"`
}

// PlaceDocument is a video's rank in another region's chart.
type PlaceDocument struct {
	Region ingest.Region `json:"region"`
	Rank   int           `json:"rank"`
}

// MovesDocument is a chart compared with an older one. Its items say how they moved.
type MovesDocument struct {
	ChartDocument

	ComparedTo time.Time      `json:"compared_to"` // the slot of the older chart
	Changes    map[string]int `json:"changes"`
	Items      []MoveItem     `json:"items"` // the newer chart
	Gone       []MoveItem     `json:"gone"`  // with their last rank and counts
}

// First returns the chart with at most that many videos, and as many that are gone; 0: all of them.
func (d MovesDocument) First(limit int) MovesDocument {
	if limit > 0 {
		d.ChartDocument.Items = d.ChartDocument.Items[:min(limit, len(d.ChartDocument.Items))]
		d.Items, d.Gone = d.Items[:min(limit, len(d.Items))], d.Gone[:min(limit, len(d.Gone))]
	}
	return d
}

// Each calls f with every item of the document, including deleted ones.
func (d *MovesDocument) Each(f func(*ChartItem)) {
	for i := range d.ChartDocument.Items {
		f(&d.ChartDocument.Items[i])
	}
	for _, list := range [][]MoveItem{d.Items, d.Gone} {
		for i := range list {
			f(&list[i].ChartItem)
		}
	}
}

// Compared reports whether the chart was compared with another; the embedded document is complete otherwise.
func (d MovesDocument) Compared() bool { return !d.ComparedTo.IsZero() }

// MoveItem is a video that is in one of two charts, or in both, and how it moved.
type MoveItem struct {
	ChartItem

	Change      string `json:"change"`
	WasRank     *int   `json:"was_rank"`
	ViewsGained *int64 `json:"views_gained"`
}

// NewMovesDocument separates videos that are gone from the newer chart from the rest.
func NewMovesDocument(newer ChartDocument, comparedTo time.Time, moves []MoveItem) MovesDocument {
	doc := MovesDocument{ChartDocument: newer, ComparedTo: comparedTo.UTC(), Changes: map[string]int{},
		Items: []MoveItem{}, Gone: []MoveItem{}}
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

// HistoryDocument is a video's path through the charts, as ingest history prints it.
type HistoryDocument struct {
	VideoDocument

	Description string             `json:"description,omitempty"` // with descriptions: on
	Sightings   []SightingDocument `json:"sightings"`
}

// SightingDocument is a video's place in one chart, or its counts in one slot of a watch list, which has no region and
// ranks nothing.
type SightingDocument struct {
	Region      ingest.Region `json:"region"`
	Job         string        `json:"job"`
	Slot        time.Time     `json:"slot"`
	Rank        *int          `json:"rank"`
	Views       *int64        `json:"views"`
	Likes       *int64        `json:"likes"`
	Comments    *int64        `json:"comments"`
	ViewsGained *int64        `json:"views_gained"`
}

// Place returns the rank; 0 without one.
func (d SightingDocument) Place() int {
	if d.Rank == nil {
		return 0
	}
	return *d.Rank
}

// RegionsDocument lists the charted regions.
type RegionsDocument struct {
	Regions []RegionDocument `json:"regions"`
}

// RegionDocument is a region, with the jobs that chart it.
type RegionDocument struct {
	Region ingest.Region      `json:"region"`
	Name   string             `json:"name"` // in English
	Jobs   []ChartJobDocument `json:"jobs"`
}

// ChartJobDocument is a job that charts a region.
type ChartJobDocument struct {
	Job       string     `json:"job"`
	Category  string     `json:"category"` // "": all categories
	Named     string     `json:"category_name"`
	Slot      *time.Time `json:"slot"` // of its newest chart; null: none yet
	FetchedAt *time.Time `json:"fetched_at"`
}

// Errors that the functions of Documents return, for errors.Is. Their texts are shown to visitors.
var (
	ErrBadRequest = errors.New("bad request")
	ErrNotFound   = errors.New("not found")
)

// Documents reads the documents that the API and the pages show. Its functions are safe for concurrent use. Parameters
// are the parameters of a URL, named like the command's flags with '_' for '-'; unknown ones are refused.
type Documents struct {
	Search func(ctx context.Context, params url.Values) (SearchDocument, error)
	Chart  func(ctx context.Context, region string, params url.Values) (MovesDocument, error)
	Video  func(ctx context.Context, id string, params url.Values) (HistoryDocument, error)
	// Kept returns the slots of the complete charts of a region and a job, oldest first.
	Kept func(ctx context.Context, region ingest.Region, job string) ([]time.Time, error)
	// Courses returns the courses of videos, by their ids, through the charts of a region and a job due at a time or
	// earlier.
	Courses func(ctx context.Context, region ingest.Region, job string, at time.Time,
		videos []string) (map[string]CourseDocument, error)
	// Regions lists the charted regions, in the order of the config.
	Regions func(ctx context.Context) (RegionsDocument, error)
	Slots   func(ctx context.Context, params url.Values) ([]SlotDocument, error) // all of them, newest first
}
