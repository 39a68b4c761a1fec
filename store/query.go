package store

import (
	"fmt"
	"hash/fnv"
	"strings"
	"time"

	"github.com/trendvidstream/ingest"
)

// Order is the order of a result.
type Order string

// The orders. Each holds over all matches, and ties go by popularity: see keys.
const (
	ByRelevance Order = ""          // the best score
	ByViews     Order = "views"     // the most views
	ByFreshness Order = "freshness" // the last found, by seen_at; of those found together, the last published
	ByRise      Order = "rise"      // the most views gained between its last two sightings in one chart
)

// DefaultLimit is how many videos a search finds when its query names no limit.
const DefaultLimit = 20

// SearchQuery is a search. A zero field excludes nothing.
type SearchQuery struct {
	Text     string        // see text.Parse: words, "phrases", prefix*, -not, channel:, tag:
	Region   ingest.Region // only videos that this region's kept charts hold
	Category string
	MinViews int64

	PublishedSince, PublishedUntil time.Time // only videos published within [since, until)
	SeenSince                      time.Time // only videos found since then, by seen_at: see schema.sql

	Order Order
	Limit int    // 0: DefaultLimit
	Tally bool   // also count what each filter would leave
	After string // Result.Next of the page before; "" is the first page

	// At is kept in the cursor, in whole seconds: what the times in the query were counted from. Only a tally uses it.
	At time.Time
}

// picky reports whether a filter may leave few of those that a region's charts hold.
func (q SearchQuery) picky() bool {
	return q.Category != "" || q.MinViews > 0 || !q.PublishedSince.IsZero() || !q.PublishedUntil.IsZero() || !q.SeenSince.IsZero()
}

// hash returns a number that tells queries apart, without the limit and the cursor. The words count as they were typed,
// as they do for the score.
func (q SearchQuery) hash() uint32 {
	h := fnv.New32a()
	_, _ = fmt.Fprintf(h, "%q %q %q %q %d", strings.Fields(q.Text), q.Region, q.Category, q.Order, q.MinViews)
	for _, t := range []time.Time{q.PublishedSince, q.PublishedUntil, q.SeenSince} {
		_, _ = fmt.Fprintf(h, " %d", millis(t).Int64)
	}
	return h.Sum32()
}

// Filtered reports whether the query has a filter.
func (q SearchQuery) Filtered() bool { return q.Region != "" || q.picky() }
