package store

import (
	"context"
	"time"
)

// cancelPieces is how many pieces a transaction of CancelBackfill ends, so that other writers wait for
// milliseconds.
const cancelPieces = 500

// CancelBackfill ends a backfill: what is open is skipped, and what a run works on ends with the page in
// flight. What it found stays. It reports whether there was anything to cancel; ErrNoBackfill when there is no
// such backfill. The first transaction is the cancel: after it nothing is claimed, and a call that dies leaves
// only rows for the next one to end.
func (s *Store) CancelBackfill(ctx context.Context, id string, now time.Time) (cancelled bool, err error) {
	var row int64
	err = s.tx(ctx, "cancel "+id, func(tx *txn) error {
		b, err := findBackfill(ctx, tx, id)
		if err != nil {
			return err
		}
		row = b.row
		n, err := affected(tx.ExecContext(ctx, `
			UPDATE backfills SET cancelled_at = ? WHERE id = ? AND cancelled_at IS NULL AND `+hasOpenPieces, now.UnixMilli(), row))
		cancelled = n > 0
		return err
	})
	if err != nil {
		return false, err
	}
	err = s.steps(ctx, "cancel "+id, func(tx *txn) (bool, error) {
		n, err := endPieces(ctx, tx, row, now)
		cancelled = cancelled || n > 0
		return n > 0, err
	})
	return cancelled, err
}

// endPieces skips a few open pieces of a cancelled backfill that no run works on, and says how many.
func endPieces(ctx context.Context, tx *txn, backfill int64, now time.Time) (int, error) {
	slots, err := column[int64](ctx, tx, `
		SELECT slots.id FROM series CROSS JOIN slots ON slots.series = series.id
		WHERE backfill = ? AND open IS NOT NULL AND (state <> 'claimed' OR lease <= ?) LIMIT ?`,
		backfill, now.UnixMilli(), cancelPieces)
	if err != nil || len(slots) == 0 {
		return 0, err
	}
	for _, q := range []string{
		`UPDATE slots SET state = 'skipped', reason = '` + cancelledReason + `', lease = NULL, retry_at = NULL WHERE id IN (SELECT value FROM json_each(?1))`,
		`UPDATE series SET open = NULL WHERE id IN (SELECT series FROM slots WHERE id IN (SELECT value FROM json_each(?1)))`,
	} {
		if err := execJSON(ctx, tx, q, slots); err != nil {
			return 0, err
		}
	}
	return len(slots), nil
}
