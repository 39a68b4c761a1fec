package store

import (
	"context"
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

// olderThan is a step: what was fetched on the day or later, behind the row.
func (s *Store) olderThan(ctx context.Context, before time.Time, n int, day, row int64) (ids []string, _, _ int64, err error) {
	rows, err := s.read.QueryContext(ctx, `
		SELECT fetched_day, id, video_id FROM videos
		WHERE (fetched_day, id) > (?, ?) AND fetched_day <= ? AND fetched_at < ? ORDER BY fetched_day, id LIMIT ?`,
		day, row, dayOf(before), before.UnixMilli(), n)
	if err != nil {
		return nil, 0, 0, err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var id string
		if err := rows.Scan(&day, &row, &id); err != nil {
			return nil, 0, 0, err
		}
		ids = append(ids, id)
	}
	return ids, day, row, rows.Err()
}
