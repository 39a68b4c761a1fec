package store

import (
	"context"
	"database/sql"
)

// NoteSizes keeps, by key, how many videos pieces of a backfill will bring, as the caller counts them. That
// does not change what a piece asks for. Unknown keys are ignored; ErrNoBackfill
// when there is no such backfill.
func (s *Store) NoteSizes(ctx context.Context, id string, videos map[string]int) error {
	if len(videos) == 0 {
		return nil
	}
	return s.tx(ctx, "note how much "+id+" is", func(tx *txn) error {
		b, err := findBackfill(ctx, tx, id)
		if err != nil {
			return err
		}
		for key, n := range videos {
			if _, err := tx.ExecContext(ctx, `
				UPDATE pieces SET spec = json_set(spec, '$.videos', ?3)
				WHERE slot IN (SELECT slots.id FROM series JOIN slots ON slots.series = series.id WHERE job = ?1 AND key = ?2)`,
				b.Job(), key, n); err != nil {
				return err
			}
		}
		return nil
	})
}

// OpenSizes are those that NoteSizes has kept of the pieces that are open.
func (s *Store) OpenSizes(ctx context.Context, id string) (map[string]int, error) {
	sizes := map[string]int{}
	err := s.view(ctx, "find how much "+id+" is", func(tx *txn) error {
		return each(ctx, tx, func(rows *sql.Rows) error {
			var key string
			var n int
			err := rows.Scan(&key, &n)
			sizes[key] = n
			return err
		}, `
			SELECT series.key, pieces.spec ->> 'videos'
			FROM backfills JOIN series ON series.backfill = backfills.id AND open IS NOT NULL
			JOIN slots ON slots.series = series.id JOIN pieces ON slot = slots.id
			WHERE name = ? AND pieces.spec ->> 'videos' IS NOT NULL`, id)
	})
	return sizes, err
}
