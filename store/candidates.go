package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// What a search looks at, at most. Vars, so that a test can make them bite.
var (
	// maxCandidates is how many videos are scored.
	maxCandidates = 2000
	// maxMatches is how many matches the filters are tried on: with a rare region or a high bar,
	// most of them fail.
	maxMatches = 20_000
)

// candidate is a video that matches, with what it is ordered by.
type candidate struct {
	id             int64 // videos.id
	videoID        string
	title, channel string
	views          sql.NullInt64
	seenAt         int64
	publishedAt    sql.NullInt64
	gained         *int64 // set for ByRise

	folded string // the title, as the index has it
	score  float64
	key    [2]float64 // greater comes first
}

// The index is asked for matches from the newest on and for nothing else: it walks the lists of the
// words and stops when it has enough. bm25 would not: it counts all the matches of every word first.
const (
	// countMatches is how many of the newest matches of ?1 up to row ?2 there are, at most ?3, and
	// the oldest of these.
	countMatches = `
SELECT count(*), coalesce(min(id), 0) FROM (
	SELECT rowid AS id FROM video_text WHERE video_text MATCH ?1 AND rowid <= ?2 ORDER BY rowid DESC LIMIT ?3
)`

	// findCandidates are the newest matches of ?1 between rows ?4 and ?2 that pass the filters, at
	// most ?3. The filters and an order go between head and tail.
	findCandidatesHead = `
SELECT videos.id, video_id, videos.title, coalesce(channels.title, ''), videos.views, seen_at, published_at
FROM video_text CROSS JOIN videos ON videos.id = video_text.rowid LEFT JOIN channels ON channels.id = videos.channel
WHERE video_text MATCH ?1 AND video_text.rowid <= ?2 AND video_text.rowid >= ?4`
	findCandidatesTail = `
ORDER BY video_text.rowid DESC
LIMIT ?3`
)

// candidates are the newest videos that match and pass the filters. capped says that there are more. Then
// those are added that have all words in their titles, as many again: of a word that is in many tags,
// the videos that are named so must not drown.
func (f *finder) candidates(ctx context.Context) ([]candidate, bool, error) {
	expr, _ := match(f.clauses, "")
	found, capped, err := f.newest(ctx, expr)
	if err != nil || !capped {
		return found, capped, err
	}
	known := map[int64]bool{}
	for _, c := range found {
		known[c.id] = true
	}
	titled, _ := match(f.clauses, "title")
	more, _, err := f.newest(ctx, titled)
	for _, c := range more {
		if !known[c.id] {
			found = append(found, c)
		}
	}
	return found, true, err
}

// newest are the newest videos that match expr and pass the filters.
func (f *finder) newest(ctx context.Context, expr string) (found []candidate, capped bool, err error) {
	args := []any{expr, f.after.video, maxCandidates + 1, int64(0)}
	where, args := f.q.filters(args)
	if where != "" {
		var n int
		var oldest int64
		if err := f.tx.QueryRowContext(ctx, countMatches, expr, f.after.video, maxMatches+1).Scan(&n, &oldest); err != nil {
			return nil, false, err
		}
		if n > maxMatches {
			capped, args[3] = true, oldest
		}
	}
	err = each(ctx, f.tx, func(rows *sql.Rows) error {
		var c candidate
		err := rows.Scan(&c.id, &c.videoID, &c.title, &c.channel, &c.views, &c.seenAt, &c.publishedAt)
		found = append(found, c)
		return err
	}, findCandidatesHead+where+findCandidatesTail, args...)
	if len(found) > maxCandidates {
		found, capped = found[:maxCandidates], true
	}
	return found, capped, err
}

// filters writes the query's filters as conditions, and appends their values to args.
func (q Query) filters(args []any) (string, []any) {
	var where strings.Builder
	and := func(set bool, condition string, arg any) {
		if set {
			args = append(args, arg)
			fmt.Fprintf(&where, "\n  AND "+condition, len(args))
		}
	}
	and(q.Region != "", `EXISTS (
    SELECT 1 FROM placements WHERE video = videos.id AND series IN (SELECT id FROM series WHERE key = ?%d))`, q.Region)
	and(q.Category != "", `category = ?%d`, q.Category)
	and(q.MinViews > 0, `videos.views >= ?%d`, q.MinViews)
	and(!q.PublishedSince.IsZero(), `published_at >= ?%d`, ceilUnix(q.PublishedSince))
	and(!q.PublishedUntil.IsZero(), `published_at < ?%d`, ceilUnix(q.PublishedUntil))
	and(!q.SeenSince.IsZero(), `seen_at >= ?%d`, ceilMillis(q.SeenSince))
	return where.String(), args
}

// ceilMillis is the first whole millisecond that is not before t.
func ceilMillis(t time.Time) int64 {
	n := t.UnixMilli()
	if time.UnixMilli(n).Before(t) {
		n++
	}
	return n
}

// readLeading is who leads a chart now: the best rank, up to ?2, that a video has in the newest slots up
// to ?3 of the charts of region ?1, ” for all.
const readLeading = `
WITH newest AS (
	SELECT (
		SELECT id FROM slots
		WHERE slots.series = series.id AND kind = 'chart' AND videos > 0 AND id <= ?3
		ORDER BY due_at DESC LIMIT 1
	) AS slot
	FROM series WHERE ?1 IN ('', key)
)
SELECT video, min(rank) FROM newest CROSS JOIN placements ON placements.slot = newest.slot
WHERE rank <= ?2
GROUP BY video`

// leading are the ranks of the videos that lead a chart now.
func (f *finder) leading(ctx context.Context) (map[int64]int, error) {
	ranks := map[int64]int{}
	err := each(ctx, f.tx, func(rows *sql.Rows) error {
		var video int64
		var rank int
		err := rows.Scan(&video, &rank)
		ranks[video] = rank
		return err
	}, readLeading, f.q.Region, topRanks, f.after.slot)
	return ranks, err
}

// readRises are the views that the videos in ?1, a JSON array of ids, have gained between their last two
// counts in a chart of region ?2, ” for all: the most of any chart. Within a series slots with
// placements are numbered as they were due, so up to ?3 the greatest number is the last sighting.
const readRises = `
SELECT given.key, max((
	SELECT views FROM placements
	WHERE video = given.value AND series = series.id AND slot <= ?3 AND views IS NOT NULL
	ORDER BY slot DESC LIMIT 1
) - (
	SELECT views FROM placements
	WHERE video = given.value AND series = series.id AND slot <= ?3 AND views IS NOT NULL
	ORDER BY slot DESC LIMIT 1 OFFSET 1
))
FROM json_each(?1) AS given CROSS JOIN series
WHERE series.key <> '' AND ?2 IN ('', series.key)
GROUP BY given.key`

// rises sets what the candidates have gained.
func (f *finder) rises(ctx context.Context, of []candidate) error {
	list, err := json.Marshal(ids(of))
	if err != nil {
		return err
	}
	return each(ctx, f.tx, func(rows *sql.Rows) error {
		var at int
		var gained *int64
		err := rows.Scan(&at, &gained)
		of[at].gained = gained
		return err
	}, readRises, string(list), f.q.Region, f.after.slot)
}
