package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// What a search looks at, at most. Vars, so that a test can make them bite.
var (
	// maxCandidates is how many videos are scored: ten pages of a result.
	maxCandidates = 200
	// maxMatches is how many matches the filters are tried on: with a rare region or a high bar,
	// most of them fail.
	maxMatches = 10_000
	// maxChecked is how many videos are read to see whether they have a beginning that the index
	// could not be asked for.
	maxChecked = 2000
	// reach is how many ids the index is asked about at once. Words that are all common and never meet
	// are walked through to the end, and the walk cannot be interrupted; so between two of them is
	// time to stop.
	reach int64 = 250_000
	// patience is after how long no further reach begins.
	patience = 300 * time.Millisecond
)

// candidate is a video that matches, with what it is ordered by.
type candidate struct {
	id          int64 // videos.id
	videoID     string
	title       string
	channel     sql.NullInt64 // channels.id
	tags        string        // as in videos.tags; "" unless a clause must be checked
	views       sql.NullInt64
	seenAt      int64
	publishedAt sql.NullInt64
	gained      *int64 // set for ByRise

	folded []string // the title, as the index has it
	owner  []string // the channel's name, likewise, where it may count
	score  float64
	key    [2]float64 // greater comes first
}

// The index is asked for matches from the newest on and for nothing else: it walks the lists of the
// words and stops when it has enough. bm25 would not: it counts all the matches of every word first.
const (
	// matched are the newest matches of ?1 among the rows behind ?2 up to ?3, at most ?4.
	matched = `(
	SELECT rowid AS id FROM video_text WHERE video_text MATCH ?1 AND rowid > ?2 AND rowid <= ?3 ORDER BY rowid DESC LIMIT ?4
) AS matched`

	countMatched = `SELECT count(*) FROM ` + matched

	// readCandidates are the first ?5 of them that pass the filters, which follow. ?6 is whether tags are
	// wanted. A video's region is looked up before the video is: that is why it is a value there, and no
	// EXISTS, of which SQLite makes a join behind the others.
	readCandidates = `
SELECT videos.id, video_id, title, channel, iif(?6, tags, ''), views, seen_at, published_at
FROM ` + matched + ` CROSS JOIN videos ON videos.id = matched.id
WHERE true`
)

// candidates are the newest videos that match and pass the filters. capped says that there are more. Then
// those are added that have all words in their titles, until there are as many of these as may be: of a
// word that is in many tags, the videos that are named so must not drown.
func (f *finder) candidates(ctx context.Context) ([]candidate, bool, error) {
	if err := f.expand(ctx); err != nil {
		return nil, false, err
	}
	var all pile
	expr, _ := match(f.clauses, "", false)
	found, capped, err := f.newest(ctx, expr, f.after.video, maxCandidates)
	if err != nil {
		return nil, false, err
	}
	all.add(found)
	if slices.ContainsFunc(f.clauses, clause.loose) {
		capped = true
		expr, _ := match(f.clauses, "", true)
		if found, _, err = f.newest(ctx, expr, f.after.video, maxCandidates); err != nil {
			return nil, false, err
		}
		all.add(found)
	}
	if want := maxCandidates - f.titled(all.candidates); capped && want > 0 {
		expr, _ := match(f.clauses, "title", false)
		if found, _, err = f.newest(ctx, expr, f.after.video, want); err != nil {
			return nil, false, err
		}
		all.add(found)
	}
	return all.candidates, capped, nil
}

// pile is candidates, once each.
type pile struct {
	candidates []candidate
	known      map[int64]bool
}

func (p *pile) add(found []candidate) {
	if p.known == nil {
		p.known = map[int64]bool{}
	}
	for _, c := range found {
		if !p.known[c.id] {
			p.known[c.id] = true
			p.candidates = append(p.candidates, c)
		}
	}
}

// titled counts the candidates that have all that is asked for in their titles.
func (f *finder) titled(found []candidate) int {
	n := 0
	for _, c := range found {
		if f.inTitle(c) {
			n++
		}
	}
	return n
}

func (f *finder) inTitle(c candidate) bool {
	return !slices.ContainsFunc(f.clauses, func(cl clause) bool { return !cl.not && (cl.column != "" || !cl.in(c.folded)) })
}

// owners reads the names of the channels of those candidates for which they count.
func (f *finder) owners(ctx context.Context, of []candidate, counts func(candidate) bool) error {
	names := map[int64][]string{}
	for _, c := range of {
		if c.channel.Valid && counts(c) {
			names[c.channel.Int64] = nil
		}
	}
	list, err := json.Marshal(slices.Collect(maps.Keys(names)))
	if err != nil {
		return err
	}
	err = each(ctx, f.tx, func(rows *sql.Rows) error {
		var id int64
		var name string
		err := rows.Scan(&id, &name)
		names[id] = strings.Fields(Normalize(name))
		return err
	}, `SELECT channels.id, title FROM json_each(?1) AS given CROSS JOIN channels ON channels.id = given.value`, string(list))
	for i := range of {
		of[i].owner = names[of[i].channel.Int64]
	}
	return err
}

// newest are the newest videos up to the row that match expr and pass the filters, at most want.
func (f *finder) newest(ctx context.Context, expr string, from int64, want int) (found []candidate, capped bool, err error) {
	left := maxMatches
	if slices.ContainsFunc(f.clauses, clause.loose) {
		left = maxChecked
	}
	for size := reach; from > f.oldest; {
		began := time.Now()
		to := max(from-size, f.oldest)
		more, tried, err := f.within(ctx, expr, to, from, want+1-len(found), left+1)
		if err != nil {
			return nil, false, err
		}
		found = append(found, more...)
		if left -= tried; len(found) > want || left < 0 {
			return found[:min(len(found), want)], true, nil
		}
		if from = to; from > f.oldest && time.Since(f.began) > patience {
			return found, true, nil
		}
		if time.Since(began) < patience/30 && size < 8*reach {
			size *= 2 // few matches, or few videos: ids of deleted ones are not used again
		}
	}
	return found, false, nil
}

// within are the newest want videos between the rows that match expr and pass the filters, which are tried
// on so many matches at most.
func (f *finder) within(ctx context.Context, expr string, behind, upTo int64, want, matches int) (found []candidate, tried int, err error) {
	checked := slices.ContainsFunc(f.clauses, clause.loose)
	where, args := f.q.filters([]any{expr, behind, upTo, matches, want, checked})
	filtered := where != "" || checked
	switch {
	case checked:
		args[4] = matches
	case !filtered:
		args[3] = want
	}
	err = each(ctx, f.tx, func(rows *sql.Rows) error {
		var c candidate
		err := rows.Scan(&c.id, &c.videoID, &c.title, &c.channel, &c.tags, &c.views, &c.seenAt, &c.publishedAt)
		c.folded = strings.Fields(Normalize(c.title))
		found = append(found, c)
		return err
	}, readCandidates+where+"\nLIMIT ?5", args...)
	if checked && err == nil {
		found, err = f.check(ctx, found)
	}
	if err == nil && filtered && len(found) < want { // or else want was what ended it
		err = f.tx.QueryRowContext(ctx, countMatched, args[:4]...).Scan(&tried)
	}
	return found, tried, err
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
	and(q.Region != "", `(
    SELECT 1 FROM placements WHERE video = matched.id AND series IN (SELECT id FROM series WHERE backfill IS NULL AND key = ?%d) LIMIT 1)`, q.Region)
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
	FROM series WHERE backfill IS NULL AND ?1 IN ('', key)
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
WHERE backfill IS NULL AND series.key <> '' AND ?2 IN ('', series.key)
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
