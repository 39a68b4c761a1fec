package store

import (
	"context"
	"database/sql"
	"iter"
	"time"
)

// Older is the ids of all videos that were last fetched before before, by the day, longest ago first, n at a time. It
// reads in steps, so that it keeps nobody waiting and holds little.
func (s *Store) Older(ctx context.Context, before time.Time, n int) iter.Seq2[[]string, error] {
	return func(yield func([]string, error) bool) {
		for day, row := int64(-1<<62), int64(0); ; {
			var ids []string
			var err error
			if ids, day, row, err = s.olderThan(ctx, before, n, day, row); err != nil {
				yield(nil, s.explain(ctx, "find what is old", err))
				return
			}
			if len(ids) == 0 || !yield(ids, nil) {
				return
			}
		}
	}
}

// The videos of day ?1 after row ?2, and those of later days up to ?3, that were fetched before ?4, at most ?5. They
// are two queries, since a day may have as many videos as there are: (fetched_day, id) > (?1, ?2) would walk the
// whole day for every step.
const (
	olderThatDay = `
SELECT fetched_day, id, video_id FROM videos WHERE fetched_day = ?1 AND id > ?2 AND fetched_at < ?4 ORDER BY id LIMIT ?5`

	olderLater = `
SELECT fetched_day, id, video_id FROM videos WHERE fetched_day > ?1 AND fetched_day <= ?3 AND fetched_at < ?4 ORDER BY fetched_day, id LIMIT ?5`
)

// olderThan is a step: what was fetched on the day after the row, or on a later day.
func (s *Store) olderThan(ctx context.Context, before time.Time, n int, day, row int64) (ids []string, _, _ int64, err error) {
	from := []any{day, row, dayOf(before), before.UnixMilli()}
	for _, query := range []string{olderThatDay, olderLater} {
		err := each(ctx, s.read, func(rows *sql.Rows) error {
			var id string
			err := rows.Scan(&day, &row, &id)
			ids = append(ids, id)
			return err
		}, query, append(from, n-len(ids))...)
		if err != nil {
			return nil, 0, 0, err
		}
	}
	return ids, day, row, nil
}
