package store

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/store/text"
)

// Order is what comes first in a result.
type Order string

// The orders. Ties go by video id.
const (
	ByRelevance Order = ""          // the best score
	ByViews     Order = "views"     // the most views
	ByFreshness Order = "freshness" // the last found, by seen_at; of those found together, the last published
	ByRise      Order = "rise"      // the most views gained between its last two sightings in one chart
)

// DefaultLimit is how many videos a search finds when its query names no limit.
const DefaultLimit = 20

// Query is what to search for. A zero field excludes nothing.
type Query struct {
	Text     string        // see text.Parse: words, "phrases", prefix*, -not, channel:, tag:
	Region   ingest.Region // only videos that this region's kept charts hold
	Category string
	MinViews int64

	PublishedSince, PublishedUntil time.Time // only videos published within [since, until)
	SeenSince                      time.Time // only videos found since then, by seen_at: see schema.sql

	Order Order
	Limit int    // 0: DefaultLimit
	After string // Result.Next of the page before; "" is the first page

	// At is kept in the cursor, in whole seconds, and otherwise unused: what the times in the query
	// were counted from.
	At time.Time
}

// Result is one page of what a search found.
type Result struct {
	Items []Hit
	// Next is Query.After of the next page; "" when this is the last.
	Next string
	// Capped says that more videos match than are looked at: Items are the best of the newest.
	Capped bool
	// Looked says in words what was looked for, after parsing; "" when nothing was.
	Looked string
	// Hint is why nothing was searched for, "" when something was: a query without any word, or
	// with nothing but exclusions, finds nothing.
	Hint string
}

// Hit is a video that was found.
type Hit struct {
	Video     ingest.Video
	Regions   []ingest.Region // whose kept charts hold it, in alphabetical order
	Score     float64         // higher is better; comparable within one result only
	SeenAt    time.Time       // when it was last found: see schema.sql
	Gained    *int64          // with ByRise: the views gained; nil where no chart has two counts of it
	Highlight []text.Span     // what of the title was asked for
}

// Search finds videos by their titles, channels and tags. No text is a wrong query; the only wrong input
// is a cursor, ErrCursor.
//
// The work is bounded, however many videos match: see candidates.
func (s *Store) Search(ctx context.Context, q Query) (Result, error) {
	q.Text = q.Text[:min(len(q.Text), text.MaxBytes)]
	query := text.Parse(q.Text)
	if _, ok := query.Match("", false); !ok {
		return Result{Hint: "the query has no word to search for"}, nil
	}
	after, err := q.start()
	if err != nil {
		return Result{}, err
	}
	r := Result{Looked: query.Explain()}
	err = s.view(ctx, "search", func(tx *txn) error {
		c := finder{q: q, query: query, tx: tx, after: after, began: time.Now()}
		if err := c.pin(ctx); err != nil {
			return err
		}
		found, capped, err := c.find(ctx)
		if err != nil {
			return err
		}
		r.Capped = capped
		shown := c.page(&r, found)
		return c.details(ctx, r.Items, shown)
	})
	if err != nil {
		return Result{}, fmt.Errorf("search for %q: %w", q.Text, err)
	}
	return r, nil
}

// start is the cursor to go on from; for a first page, one with nothing but the query in it.
func (q Query) start() (cursor, error) {
	if q.After == "" {
		c := cursor{of: q.hash()}
		if !q.At.IsZero() {
			c.at = q.At.Unix()
		}
		return c, nil
	}
	c, err := readCursor(q.After)
	if err == nil && c.of != q.hash() {
		err = ErrCursor
	}
	return c, err
}

// finder is one search within one transaction.
type finder struct {
	q      Query
	query  text.Query // of q.Text
	tx     *txn
	after  cursor
	oldest int64 // every video's id is greater
	began  time.Time
}

// pin makes a first page the one that says what its search looks at.
func (f *finder) pin(ctx context.Context) error {
	var video, slot int64
	err := f.tx.QueryRowContext(ctx, `
		SELECT (SELECT coalesce(min(id), 1) - 1 FROM videos), (SELECT coalesce(max(id), 0) FROM videos), (SELECT coalesce(max(id), 0) FROM slots)`).
		Scan(&f.oldest, &video, &slot)
	if f.q.After == "" {
		f.after.video, f.after.slot = video, slot
	}
	return err
}

// find returns all candidates in the order of the query.
func (f *finder) find(ctx context.Context) ([]candidate, bool, error) {
	found, capped, err := f.candidates(ctx)
	if err != nil {
		return nil, false, err
	}
	if err := f.readChannels(ctx, found, func(c candidate) bool { return !f.query.InTitle(c.TitleTokens) }); err != nil {
		return nil, false, err
	}
	lead, err := f.leading(ctx)
	if err != nil {
		return nil, false, err
	}
	if f.q.Order == ByRise {
		if err := f.rises(ctx, found); err != nil {
			return nil, false, err
		}
	}
	for i := range found {
		c := &found[i]
		c.score = f.query.Score(c.Document, lead[c.id])
		c.key[0] = c.score
	}
	slices.SortFunc(found, byKey)
	spread(found)
	for i := range found {
		found[i].key = found[i].keyFor(f.q.Order)
	}
	slices.SortFunc(found, byKey)
	return found, capped, nil
}

func byKey(a, b candidate) int { return compareKeys(a.key, a.videoID, b.key, b.videoID) }

// compareKeys puts the greater key first, and of equal ones the smaller id.
func compareKeys(a [2]float64, aID string, b [2]float64, bID string) int {
	return cmp.Or(cmp.Compare(b[0], a[0]), cmp.Compare(b[1], a[1]), strings.Compare(aID, bID))
}

// page fills the result with what comes after the cursor, and returns the candidates it took.
func (f *finder) page(r *Result, found []candidate) []candidate {
	limit := f.q.Limit
	if limit <= 0 {
		limit = DefaultLimit
	}
	if f.q.After != "" {
		found = slices.DeleteFunc(found, func(c candidate) bool { return f.after.covers(c.key, c.videoID) })
	}
	if len(found) > limit {
		found = found[:limit]
		next, last := f.after, found[limit-1]
		next.key, next.id = last.key, last.videoID
		r.Next = next.text()
	}
	r.Items = make([]Hit, len(found))
	for i, c := range found {
		r.Items[i] = Hit{Score: c.score, Gained: c.gained, SeenAt: time.UnixMilli(c.seenAt).UTC()}
	}
	return found
}

// readHits is what is shown of the videos in ?1, a JSON array of ids; with the regions whose charts hold
// each.
const readHits = `
SELECT ` + videoColumns + `, given.key, (
	SELECT group_concat(key, ' ') FROM (
		SELECT DISTINCT key FROM series
		WHERE backfill IS NULL AND key <> '' AND EXISTS (SELECT 1 FROM placements WHERE video = videos.id AND series = series.id)
		ORDER BY key
	)
)
FROM json_each(?1) AS given CROSS JOIN videos ON videos.id = given.value LEFT JOIN channels ON channels.id = videos.channel`

// details reads what is shown of the page's videos.
func (f *finder) details(ctx context.Context, hits []Hit, of []candidate) error {
	list, err := json.Marshal(ids(of))
	if err != nil {
		return err
	}
	return each(ctx, f.tx, func(rows *sql.Rows) error {
		var at int
		var regions sql.NullString
		v, err := scanVideo(rows, &at, &regions)
		if err != nil {
			return err
		}
		h := &hits[at]
		h.Video, h.Highlight = v, f.query.Highlight(v.Title)
		for key := range strings.FieldsSeq(regions.String) {
			h.Regions = append(h.Regions, ingest.Region(key))
		}
		return nil
	}, readHits, string(list))
}

func ids(of []candidate) []int64 {
	out := make([]int64, len(of))
	for i, c := range of {
		out[i] = c.id
	}
	return out
}
