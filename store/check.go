package store

import (
	"context"
	"database/sql"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	sqlite3 "modernc.org/sqlite/lib"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/internal/sqlitefile"
	"github.com/trendvidstream/ingest/store/text"
)

// check also reports whether the file itself is damaged. It needs a fresh connection: one that has searched caches
// part of the index, which integrity_check does not reread, so that it reports damage after others have written.
func (d *database) check(ctx context.Context) (found []string, file bool, err error) {
	db, err := connect(d.path, 1, d.reading("_query_only=1")...)
	if err != nil {
		return nil, false, d.explain(ctx, "check the store", err)
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	own := database{path: d.path, read: db}
	err = own.view(ctx, "check the store", func(tx *txn) error {
		found, file, err = examine(ctx, tx, 0)
		return err
	})
	return found, file, err
}

// examine is check on a connection that has not searched before. A budget above 0 bounds the time spent comparing
// texts with the index, and nothing else.
func examine(ctx context.Context, q *txn, budget time.Duration) (found []string, file bool, err error) {
	if found, err = damages(ctx, q); err != nil || len(found) > 0 {
		return found, true, err // the queries would fail, or return nonsense
	}
	if err := unwritable(ctx, q); errors.Is(err, errUnwritable) {
		return []string{err.Error()}, true, nil
	} else if err != nil {
		return nil, false, err
	}
	for _, c := range contradictions {
		if c.what == "" {
			continue
		}
		var n int
		if err := q.QueryRowContext(ctx, `SELECT count(*) `+c.rows).Scan(&n); err != nil {
			return found, false, err
		}
		if n > 0 {
			found = append(found, counted(c.what, n))
		}
	}
	hidden, traits, err := wrongBlocks(ctx, q)
	if err != nil {
		return found, false, err
	}
	if n := len(slices.Concat(slices.Collect(maps.Values(hidden))...)); n > 0 {
		found = append(found, counted("%d video{|s} {is|are} not found in a region that charted {it|them}", n))
	}
	if len(traits) > 0 {
		found = append(found,
			counted("%d video{|s} {is|are} watched more or less than a search assumes, or of another category", len(traits)))
	}
	timed := ctx
	if budget > 0 {
		var cancel context.CancelFunc
		timed, cancel = context.WithTimeout(ctx, budget)
		defer cancel()
	}
	sums := indexSums{map[int64]hash{}, map[string]int64{}}
	changed, err := changedTexts(timed, q, sums.add)
	if len(changed) > 0 {
		found = append(found,
			counted("%d video{|s} {has|have} another text than when {it was|they were} indexed", len(changed)))
	}
	if err == nil && len(found) == 0 { // otherwise the index cannot be compared with the videos
		found, err = sums.compare(timed, q)
	}
	if timed.Err() != nil && ctx.Err() == nil {
		err = nil // the budget is used up
	}
	return found, false, err
}

// changedTexts returns the ids of videos whose text does not match their text_hash, and calls visit for every video
// compared. It skips videos without a channel, since the hash includes the channel's name.
func changedTexts(ctx context.Context, q querier, visit func(id int64, v ingest.Video)) (ids []int64, err error) {
	return ids, each(ctx, q, func(rows *sql.Rows) error {
		var id, hash int64
		v, err := scanText(rows, &id, &hash)
		if err == nil && textHash(v) != hash {
			ids = append(ids, id)
		}
		visit(id, v)
		return err
	}, selectText+`, videos.id, text_hash`+fromTexts+`WHERE channels.id IS NOT NULL ORDER BY videos.id`)
}

// damages returns the findings of SQLite's integrity_check, at most ten lines.
func damages(ctx context.Context, q querier) ([]string, error) {
	found, err := column[string](ctx, q, `PRAGMA integrity_check(10)`)
	return slices.DeleteFunc(found, func(line string) bool { return line == "ok" }), err
}

// indexSums sums up the index's expected content: for each video, where its words are; and for each beginning of one
// to three characters that the index lists, which videos have it.
type indexSums struct {
	places map[int64]hash
	begins map[string]int64
}

func (s indexSums) add(id int64, v ingest.Video) {
	known := map[string]bool{}
	for column, field := range map[string]string{"title": v.Title, "channel": v.Channel,
		"tags":        strings.Join(v.Tags, "\n"),
		"description": v.Description} {
		for at, token := range strings.Fields(text.Normalize(field)) {
			s.places[id] += placeHash(token, column, int64(at))
			letters := 0
			for end := range token + " " {
				if letters > 0 && letters <= 3 && !known[token[:end]] {
					known[token[:end]] = true
					s.begins[token[:end]] += beginSum(id)
				}
				letters++
			}
		}
	}
}

func placeHash(token, column string, at int64) hash {
	return newHash().texts(token, column).numbers(at)
}

// beginSum is an id's part in a beginning's sum: see beginSums.
func beginSum(id int64) int64 { return id * 2654435761 % 4294967291 }

// beginSums skips videos without a channel, as only the index knows the channel's name.
const beginSums = `
SELECT coalesce(sum(rowid * 2654435761 % 4294967291), 0) FROM video_text
WHERE video_text MATCH ? AND rowid NOT IN (SELECT id FROM video_facts WHERE channel IS NULL)`

// compare reads the whole index and returns a line for each kind of difference. Each line contains video_text, for
// ofIndex.
func (s indexSums) compare(ctx context.Context, tx *txn) (found []string, err error) {
	videos, beginnings := 0, 0
	err = each(ctx, tx, func(rows *sql.Rows) error {
		var token, column string
		var id, at int64
		err := rows.Scan(&token, &id, &column, &at)
		if _, ok := s.places[id]; ok { // a row without a video is never shown
			s.places[id] -= placeHash(token, column, at)
		}
		return err
	}, `SELECT term, doc, col, offset FROM video_places`)
	for _, sum := range s.places {
		if err == nil && sum != 0 {
			videos++
		}
	}
	if err == nil {
		beginnings, err = s.wrongBeginnings(ctx, tx)
	}
	words := 0
	if err == nil && videos == 0 {
		err = tx.QueryRowContext(ctx, `SELECT count(*) FROM video_words WHERE term NOT IN (SELECT word FROM words)`).
			Scan(&words)
	}
	if words > 0 {
		found = append(found, counted("words lacks %d word{|s} of video_text", words))
	}
	if videos > 0 {
		found = append(found, counted("video_text holds other words than %d video{|s} {has|have}", videos))
	}
	if beginnings > 0 {
		found = append(found,
			counted("video_text lists other videos for %d beginning{|s} of words than have {it|them}", beginnings))
	}
	if sqlitefile.Code(err) == sqlite3.SQLITE_CORRUPT {
		return append(found, "video_text cannot be read: "+err.Error()), nil
	}
	return found, err
}

// wrongBeginnings counts the beginnings whose list of videos in the index is wrong.
func (s indexSums) wrongBeginnings(ctx context.Context, tx *txn) (wrong int, err error) {
	sum, err := tx.PrepareContext(ctx, beginSums) // thousands of times
	if err != nil {
		return 0, err
	}
	defer func() { _ = sum.Close() }()
	for begin, want := range s.begins {
		var got int64
		if err := sum.QueryRowContext(ctx, `"`+begin+`" *`).Scan(&got); err != nil {
			return wrong, err
		}
		if got != want {
			wrong++
		}
	}
	return wrong, nil
}
