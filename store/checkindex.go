package store

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"time"

	sqlite3 "modernc.org/sqlite/lib"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/internal/sqlitefile"
	"github.com/trendvidstream/ingest/store/text"
)

// indexSums sum up what the index must hold: by video where its words stand, and by the beginning of a word, of one to
// three characters as the index lists them, which videos have it.
type indexSums struct {
	places map[int64]hash
	begins map[string]int64
}

// add takes what the index holds of a video's text.
func (s indexSums) add(id int64, v ingest.Video) {
	known := map[string]bool{}
	for column, of := range map[string]string{"title": v.Title, "channel": v.Channel, "tags": strings.Join(v.Tags, "\n")} {
		for at, token := range strings.Fields(text.Normalize(of)) {
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

// beginSum is what an id adds to the sum of a beginning: see beginSums.
func beginSum(id int64) int64 { return id * 2654435761 % 4294967291 }

// beginSums leave out whose channel's name the index alone has.
const beginSums = `
SELECT coalesce(sum(rowid * 2654435761 % 4294967291), 0) FROM video_text
WHERE video_text MATCH ? AND rowid NOT IN (SELECT id FROM video_facts WHERE channel IS NULL)`

// compare reads all of the index and says where it holds something else; a budget other than 0 bounds how long it reads.
// What it says names video_text.
func (s indexSums) compare(ctx context.Context, q querier, budget time.Duration) (found []string, err error) {
	began, read := time.Now(), 0
	late := func() error {
		if read++; budget > 0 && read%100 == 0 && time.Since(began) > budget {
			return errEnough
		}
		return nil
	}
	videos, err := s.comparePlaces(ctx, q, late)
	beginnings := 0
	if err == nil {
		beginnings, err = s.compareBegins(ctx, q, late)
	}
	if videos > 0 {
		found = append(found, counted("video_text holds other words than %d video{|s} {has|have}", videos))
	}
	if beginnings > 0 {
		found = append(found, counted("video_text lists other videos for %d beginning{|s} of words than have {it|them}", beginnings))
	}
	switch {
	case sqlitefile.Code(err) == sqlite3.SQLITE_CORRUPT:
		return append(found, "video_text cannot be read: "+err.Error()), nil
	case errors.Is(err, errEnough):
		return found, nil
	}
	return found, err
}

// comparePlaces counts the videos of which the index has other words than they have, or has them elsewhere.
func (s indexSums) comparePlaces(ctx context.Context, q querier, late func() error) (videos int, err error) {
	err = each(ctx, q, func(rows *sql.Rows) error {
		var token, column string
		var id, at int64
		if err := rows.Scan(&token, &id, &column, &at); err != nil {
			return err
		}
		if _, ok := s.places[id]; ok { // else it is of no video, and is never shown
			s.places[id] -= placeHash(token, column, at)
		}
		return late()
	}, `SELECT term, doc, col, offset FROM video_places`)
	if err != nil {
		return 0, err
	}
	for _, sum := range s.places {
		if sum != 0 {
			videos++
		}
	}
	return videos, nil
}

// compareBegins counts the beginnings that the index lists for other videos than have them.
func (s indexSums) compareBegins(ctx context.Context, q querier, late func() error) (beginnings int, err error) {
	for begin, want := range s.begins {
		var got int64
		if err := q.QueryRowContext(ctx, beginSums, `"`+begin+`" *`).Scan(&got); err != nil {
			return beginnings, err
		}
		if got != want {
			beginnings++
		}
		if err := late(); err != nil {
			return beginnings, err
		}
	}
	return beginnings, nil
}
