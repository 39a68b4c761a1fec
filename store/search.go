package store

import (
	"context"
	"fmt"
	"maps"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/store/text"
)

// Result is one page of a search's hits, with the query that was searched. Next asks for the page after it.
type Result struct {
	Items []Hit
	// Next is SearchQuery.After of the next page; "" when this is the last.
	Next string
	// Capped says that more than maxMatches videos match, and only the newest are considered.
	Capped bool
	// Interpreted describes the search after parsing and forgiving; "" if there was no search.
	Interpreted string
	// Forgiven says that the query found little as typed, and that Interpreted describes another one.
	Forgiven bool
	// FreshAt is when the schedule last brought stored data; zero: never.
	FreshAt time.Time
	// Counts is set if the query asks for it and something was searched for.
	Counts *Counts
	// Categories holds the upstream's names for its categories, by ID, of any region.
	Categories map[string]string
	// Hint is why there was no search, otherwise "": a query without any word finds nothing.
	Hint string
}

// Hit is a video of a Result, with its score and the matching parts of its title.
type Hit struct {
	Video     ingest.Video
	Regions   []ingest.Region // with the video in a stored chart, in alphabetical order
	Score     float64         // higher is better; comparable within one result only
	SeenAt    time.Time       // when it was last found: see schema.sql
	Gained    *int64          // with ByRise: the views gained; nil if no chart has two counts of it
	Highlight []text.Span     // the parts of the title that match
}

// Search finds videos by titles, channels, tags and descriptions, or one video by its id or URL. Every text is a valid
// query; the only error of input is ErrCursor.
//
// A search is four steps, each from value to value: the text is parsed, a reading of it is chosen that finds enough
// (choose.go), the videos found are ranked (relevance.go, rank.go), and the page's rows are read (hits).
//
// The work is bounded: of the newest maxMatches, the most watched are scored by their text, and the others follow.
func (s *Store) Search(ctx context.Context, q SearchQuery) (Result, error) {
	q.Text = q.Text[:min(len(q.Text), text.MaxBytes)]
	query := text.Parse(q.Text)
	if len(query) == 0 {
		return Result{Hint: "the query has no word to search for"}, nil
	}
	scope, err := q.start(s.now())
	if err != nil {
		return Result{}, err
	}
	if q.Limit <= 0 {
		q.Limit = DefaultLimit
	}
	var r Result
	err = s.viewKept(ctx, "search", func(ctx context.Context, tx querier, k *kept) error {
		x := index{tx: tx, q: q, scope: scope, kept: k, walked: map[string]matches{}}
		x.counted, x.newest = s.engine != nil, s.engine != nil
		x.pin()
		c, err := x.choose(ctx, query)
		if err != nil {
			return err
		}
		found, err := x.sort(ctx, c)
		if err != nil {
			return err
		}
		r, err = x.result(ctx, c, found, future(s.now()))
		return err
	})
	if err != nil {
		return Result{}, fmt.Errorf("search for %q: %w", q.Text, err)
	}
	return r, nil
}

// result reads the other fields of a page. found holds the page's candidates and, if there is a next page, the first
// of that; from the time future on, nothing counts.
func (x *index) result(ctx context.Context, c choice, found []candidate, future int64) (r Result, err error) {
	r = Result{Capped: c.matches.capped, Interpreted: c.interpreted(x.q), Forgiven: c.reading >= respelled}
	if err := x.tx.QueryRowContext(ctx, freshAt, future).Scan(inMillis(&r.FreshAt)); err != nil {
		return r, err
	}
	if len(found) > x.q.Limit {
		found = found[:x.q.Limit]
		next := x.scope
		next.Last = found[x.q.Limit-1].position
		r.Next = next.text()
	}
	if x.q.Tally {
		if r.Counts, err = x.tally(ctx, c, len(found)); err != nil {
			return r, err
		}
	}
	if x.kept.categories == nil {
		if x.kept.categories, err = categoryNames(ctx, x.tx); err != nil {
			return r, err
		}
	}
	r.Categories = maps.Clone(x.kept.categories)
	r.Items, err = x.hits(ctx, c.query, found)
	return r, err
}

// freshAt returns when a slot was last done that is not in the future, which ends at ?1. For a series that a clock
// that was ahead made fresh, it reads the newest slots.
const freshAt = `
SELECT max(CASE WHEN fresh_at <= ?1 * 1000 THEN fresh_at ELSE (
	SELECT fetched_at FROM slots WHERE series = series.id AND state = 'done' AND due_at <= ?1 ORDER BY due_at DESC LIMIT 1
) END) FROM series WHERE backfill IS NULL`
