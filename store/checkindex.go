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

// indexSums sums up what the index must hold: by video, where its words stand; and by word beginning, of one to three
// characters as the index lists them, which videos have it.
type indexSums struct {
	places map[int64]hash
	begins map[string]int64
}

// add adds what the index must hold of a video's text.
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

// beginSum is an id's contribution to the sum of a beginning: see beginSums.
func beginSum(id int64) int64 { return id * 2654435761 % 4294967291 }

// beginSums leaves out videos without a channel: only the index has its name.
const beginSums = `
SELECT coalesce(sum(rowid * 2654435761 % 4294967291), 0) FROM video_text
WHERE video_text MATCH ? AND rowid NOT IN (SELECT id FROM video_facts WHERE channel IS NULL)`

// compare reads the whole index and returns a line for each kind of difference; each line contains video_text, for
// ofIndex. A budget other than 0 bounds the time.
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

// comparePlaces counts the videos whose words, or their places, differ in the index.
func (s indexSums) comparePlaces(ctx context.Context, q querier, late func() error) (videos int, err error) {
	err = each(ctx, q, func(rows *sql.Rows) error {
		var token, column string
		var id, at int64
		if err := rows.Scan(&token, &id, &column, &at); err != nil {
			return err
		}
		if _, ok := s.places[id]; ok { // a row of no video is never shown
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

// compareBegins counts the beginnings for which the index lists other videos than have them.
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
