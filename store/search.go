package store

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"

	"github.com/trendvidstream/ingest"
)

// Order is what comes first in a result.
type Order string

// The orders. Ties go by video id.
const (
	ByRelevance Order = ""      // the best score
	ByViews     Order = "views" // the most views
)

// DefaultLimit is how many videos a search finds when its query names no limit.
const DefaultLimit = 20

// maxCandidates bounds how many matching videos are scored: a word that is everywhere would otherwise
// take seconds in a large store. Var, so that a test can make it bite.
var maxCandidates = 2000

// Query is what to search for. A zero field excludes nothing.
type Query struct {
	Text     string        // see parse: words, "phrases", prefix*, -not, channel:, tag:
	Region   ingest.Region // only videos that this region's kept charts hold
	Category string
	MinViews int64
	Since    time.Time // only videos charted since then
	Order    Order
	Limit    int // 0: DefaultLimit
}

// Result is what a search found.
type Result struct {
	Items []Hit
	// Capped says that more videos match than are looked at: Items are the best of the newest.
	Capped bool
	// Hint is why nothing was searched for, "" when something was: a query without any word, or
	// with nothing but exclusions, finds nothing.
	Hint string
}

// Hit is a video that was found.
type Hit struct {
	Video   ingest.Video
	Regions []ingest.Region // whose kept charts hold it, in alphabetical order
	Score   float64         // higher is better; comparable within one result only
}

// Search finds videos by their titles, channels and tags. No text is a wrong query.
func (s *Store) Search(ctx context.Context, q Query) (Result, error) {
	var r Result
	expr, ok := match(parse(q.Text))
	if !ok {
		r.Hint = "the query has no word to search for"
		return r, nil
	}
	query, args := q.sql(expr)
	err := s.view(ctx, "search", func(tx *sql.Tx) error {
		return each(ctx, tx, func(rows *sql.Rows) error {
			var h Hit
			var id int64
			var candidates int
			var regions sql.NullString
			v, err := scanVideo(rows, &id, &h.Score, &regions, &candidates)
			h.Video = v
			for key := range strings.SplitSeq(regions.String, " ") {
				if key != "" {
					h.Regions = append(h.Regions, ingest.Region(key))
				}
			}
			r.Capped = candidates > maxCandidates
			r.Items = append(r.Items, h)
			return err
		}, query, args...)
	})
	if err != nil {
		return Result{}, fmt.Errorf("search for %q: %w", q.Text, err)
	}
	return r, nil
}

// topRanks is how far down a newest chart lifts a video, and topLift by how much its rank 1 does: the
// score is multiplied by 1 + topLift there, less from rank to rank. What everybody watches now is the
// likelier meaning of a common word; without it "official" finds anything but the chart's first.
const (
	topRanks = 20
	topLift  = 2.0
)

// searchHead stands before the filters, searchTail behind them, then comes the order, then searchRows
// and the order again. found walks the matches of the index from the newest on, drops what the filters
// exclude and stops at the cap, so that bm25 is computed for no more than that; a match in the title
// weighs more than one in the channel, and that more than one in the tags. best is what is returned.
//
//	?1 region or ''   ?2 topRanks   ?3 FTS5 query   ?4 cap + 1   ?5 topLift   ?6 limit   ?7... filters
const (
	searchHead = `
WITH newest AS (
	SELECT (
		SELECT id FROM slots WHERE slots.series = series.id AND kind = 'chart' AND videos > 0 ORDER BY due_at DESC LIMIT 1
	) AS slot
	FROM series WHERE ?1 IN ('', key)
), top AS MATERIALIZED (
	SELECT video, min(rank) AS rank FROM newest CROSS JOIN placements ON placements.slot = newest.slot
	WHERE rank <= ?2 GROUP BY video
), found AS MATERIALIZED (
	SELECT video_text.rowid AS id, -bm25(video_text, 10, 4, 1) AS score, video_id, views
	FROM video_text CROSS JOIN videos ON videos.id = video_text.rowid
	WHERE video_text MATCH ?3`

	searchTail = `
	ORDER BY video_text.rowid DESC LIMIT ?4
), best AS MATERIALIZED (
	SELECT id, score * (1 + ?5 * coalesce(?2 + 1 - top.rank, 0) / ?2) AS score
	FROM found LEFT JOIN top ON top.video = found.id
	ORDER BY `

	searchRows = ` LIMIT ?6
)
SELECT ` + videoColumns + `, best.id, score, (
	SELECT group_concat(key, ' ') FROM (
		SELECT DISTINCT key FROM series
		WHERE key <> '' AND EXISTS (SELECT 1 FROM placements WHERE video = best.id AND series = series.id)
		ORDER BY key
	)
), (SELECT count(*) FROM found)
FROM best JOIN videos ON videos.id = best.id LEFT JOIN channels ON channels.id = videos.channel
ORDER BY `
)

// sql writes the query.
func (q Query) sql(expr string) (string, []any) {
	limit, order := q.Limit, `score DESC, video_id`
	if limit <= 0 {
		limit = DefaultLimit
	}
	if q.Order == ByViews {
		order = `views DESC, video_id`
	}
	args := []any{q.Region, topRanks, expr, maxCandidates + 1, topLift, limit}
	var filters strings.Builder
	and := func(set bool, condition string, arg any) {
		if set {
			args = append(args, arg)
			fmt.Fprintf(&filters, "\n\t  AND "+condition, len(args))
		}
	}
	and(q.Region != "", `EXISTS (
		SELECT 1 FROM placements WHERE video = videos.id AND series IN (SELECT id FROM series WHERE key = ?%d))`, q.Region)
	and(q.Category != "", `category = ?%d`, q.Category)
	and(q.MinViews > 0, `videos.views >= ?%d`, q.MinViews)
	and(!q.Since.IsZero(), `seen_at >= ?%d`, q.Since.UnixMilli())
	return searchHead + filters.String() + searchTail + order + searchRows + order, args
}
