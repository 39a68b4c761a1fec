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

	"github.com/trendvidstream/ingest/store/text"
)

// The bounds of a search. They are variables so that a test can make them apply to a small store.
var (
	// maxCandidates is how many videos are scored: ten pages of a result.
	maxCandidates = 200
	// maxMatches is how many matches the filters are tried on: with a rare region or a high minimum of views,
	// most of them fail.
	maxMatches = 10_000
	// maxChecked is how many videos are read to see whether they have a prefix that the index could not be
	// asked for.
	maxChecked = 2000
	// maxWords is how many words a search asks for by name, over all its prefixes.
	maxWords = 128
	// idRange is how many ids the index is asked about at once. Words that are all common and never occur
	// together are walked through to the end, and the walk cannot be interrupted. Between two ranges a search
	// can stop.
	idRange int64 = 250_000
	// timeBudget is the time after which no further range begins.
	timeBudget = 300 * time.Millisecond
)

// candidate is a video that matches, with what it is ordered by.
type candidate struct {
	text.Document

	id          int64 // videos.id
	videoID     string
	channel     sql.NullInt64 // channels.id
	tags        string        // as in videos.tags; "" unless the query must be checked
	views       sql.NullInt64
	seenAt      int64
	publishedAt sql.NullInt64
	gained      *int64 // set for ByRise

	score float64
	key   [2]float64 // greater comes first
}

// The index is asked for matches from the newest on and for nothing else: it walks the lists of the
// words and stops when it has enough. bm25 would not: it counts all the matches of every word first.
const (
	// matched are the newest matches of ?1 among the rows after ?2 up to ?3, at most ?4.
	matched = `(
	SELECT rowid AS id FROM video_text WHERE video_text MATCH ?1 AND rowid > ?2 AND rowid <= ?3 ORDER BY rowid DESC LIMIT ?4
) AS matched`

	countMatched = `SELECT count(*) FROM ` + matched

	// readCandidates are the first ?5 of them that pass the filters, which follow. ?6 is whether tags are
	// needed. The filter by region is a scalar subquery, so that it is tried before the video is read: SQLite
	// makes an EXISTS a join after the others.
	readCandidates = `
SELECT videos.id, video_id, title, channel, iif(?6, tags, ''), views, seen_at, published_at
FROM ` + matched + ` CROSS JOIN videos ON videos.id = matched.id
WHERE true`
)

// candidates are the newest videos that match and pass the filters. capped says that there are more. Then
// videos with all words in their titles are added, until maxCandidates of those are there: a video that is
// named by a word must not be lost among the many that only have it in their tags.
func (f *finder) candidates(ctx context.Context) ([]candidate, bool, error) {
	err := f.query.Expand(maxWords, func(prefix string, n int) ([]string, error) { return indexedWords(ctx, f.tx, prefix, n) })
	if err != nil {
		return nil, false, err
	}
	var all candidateSet
	expr, _ := f.query.Match("", false)
	found, capped, err := f.newest(ctx, expr, f.after.video, maxCandidates)
	if err != nil {
		return nil, false, err
	}
	all.add(found)
	if f.query.Loose() {
		capped = true
		expr, _ := f.query.Match("", true)
		if found, _, err = f.newest(ctx, expr, f.after.video, maxCandidates); err != nil {
			return nil, false, err
		}
		all.add(found)
	}
	if want := maxCandidates - f.inTitleCount(all.candidates); capped && want > 0 {
		expr, _ := f.query.Match("title", false)
		if found, _, err = f.newest(ctx, expr, f.after.video, want); err != nil {
			return nil, false, err
		}
		all.add(found)
	}
	return all.candidates, capped, nil
}

// candidateSet has each candidate once.
type candidateSet struct {
	candidates []candidate
	known      map[int64]bool
}

func (s *candidateSet) add(found []candidate) {
	if s.known == nil {
		s.known = map[int64]bool{}
	}
	for _, c := range found {
		if !s.known[c.id] {
			s.known[c.id] = true
			s.candidates = append(s.candidates, c)
		}
	}
}

// inTitleCount counts the candidates that have all that is asked for in their titles.
func (f *finder) inTitleCount(found []candidate) int {
	n := 0
	for _, c := range found {
		if f.query.InTitle(c.TitleTokens) {
			n++
		}
	}
	return n
}

// readChannels reads the names of the channels of those candidates for which they count.
func (f *finder) readChannels(ctx context.Context, of []candidate, counts func(candidate) bool) error {
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
		names[id] = strings.Fields(text.Normalize(name))
		return err
	}, `SELECT channels.id, title FROM json_each(?1) AS given CROSS JOIN channels ON channels.id = given.value`, string(list))
	for i := range of {
		of[i].Channel = names[of[i].channel.Int64]
	}
	return err
}

// newest are the newest videos up to the row that match expr and pass the filters, at most want.
func (f *finder) newest(ctx context.Context, expr string, from int64, want int) (found []candidate, capped bool, err error) {
	left := maxMatches
	if f.query.Loose() {
		left = maxChecked
	}
	for size := idRange; from > f.oldest; {
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
		if from = to; from > f.oldest && time.Since(f.began) > timeBudget {
			return found, true, nil
		}
		if time.Since(began) < timeBudget/30 && size < 8*idRange {
			size *= 2 // few matches, or few videos: ids of deleted ones are not used again
		}
	}
	return found, false, nil
}

// within are the newest want videos between the rows that match expr and pass the filters, which are tried
// on so many matches at most.
func (f *finder) within(ctx context.Context, expr string, after, upTo int64, want, matches int) (found []candidate, tried int, err error) {
	checked := f.query.Loose()
	where, args := f.q.filters([]any{expr, after, upTo, matches, want, checked})
	filtered := where != "" || checked
	switch {
	case checked:
		args[4] = matches
	case !filtered:
		args[3] = want
	}
	err = each(ctx, f.tx, func(rows *sql.Rows) error {
		var c candidate
		err := rows.Scan(&c.id, &c.videoID, &c.Title, &c.channel, &c.tags, &c.views, &c.seenAt, &c.publishedAt)
		c.TitleTokens = strings.Fields(text.Normalize(c.Title))
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

// check leaves those of the candidates that meet what SQLite could not be asked for.
func (f *finder) check(ctx context.Context, found []candidate) ([]candidate, error) {
	if err := f.readChannels(ctx, found, func(candidate) bool { return true }); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(found, func(c candidate) bool {
		var tags []string
		_ = json.Unmarshal([]byte(c.tags), &tags) // the store wrote them
		c.Tags = strings.Fields(text.Normalize(strings.Join(tags, "\n")))
		return !f.query.Meets(c.Document)
	}), nil
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
