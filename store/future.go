package store

import (
	"context"
	"database/sql"
	"path/filepath"
	"time"

	"github.com/trendvidstream/ingest"
)

// InspectFuture is Inspect for the scheduled slots that are due after now by more than ingest.ClockAhead, newest first:
// they were added while a clock was ahead.
func InspectFuture(ctx context.Context, dir string, now time.Time) (slots []ingest.Slot, err error) {
	err = inspect(ctx, filepath.Join(dir, FileName), func(db *sql.DB, _ identity) (err error) {
		slots, err = selectReports(ctx, db, `kind <> 'backfill' AND due_at > ?`, future(now))
		return err
	})
	return slots, err
}

// RemoveFuture deletes those slots with their placements, and returns their number.
func (s *Store) RemoveFuture(ctx context.Context, now time.Time) (slots int, err error) {
	err = s.tx(ctx, "delete slots in the future", func(tx *txn) error {
		if _, err := tx.ExecContext(ctx, `
			DELETE FROM placements WHERE slot IN (SELECT id FROM slots WHERE kind <> 'backfill' AND due_at > ?)`, future(now)); err != nil {
			return err
		}
		slots, err = affected(tx.ExecContext(ctx, `DELETE FROM slots WHERE kind <> 'backfill' AND due_at > ?`, future(now)))
		if err != nil || slots == 0 {
			return err
		}
		if _, err := tx.ExecContext(ctx, `DELETE FROM series WHERE id NOT IN (SELECT series FROM slots)`); err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, `
			UPDATE series
			SET newest = (SELECT max(due_at) FROM slots WHERE series = series.id), open = iif(open <= ?1, open, NULL), fresh_at = iif(fresh_at <= ?1 * 1000, fresh_at, NULL)
			WHERE backfill IS NULL AND (newest > ?1 OR fresh_at > ?1 * 1000)`, future(now))
		return err
	})
	return slots, err
}
