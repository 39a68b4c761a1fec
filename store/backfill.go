package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/trendvidstream/ingest"
)

// ErrNoBackfill is returned for a backfill that the store does not have.
var ErrNoBackfill = errors.New("there is no such backfill")

// RetryBackfill makes due again the pieces that failed or have ids that could not be looked up, and returns their
// number. It skips cancelled backfills and pieces whose request was lost.
func (s *Store) RetryBackfill(ctx context.Context, id string) (pieces int, err error) {
	err = s.tx(ctx, "retry failed pieces of "+id, func(tx *txn) error {
		b, err := findBackfill(ctx, tx, id)
		if err != nil || !b.Cancelled.IsZero() {
			return err
		}
		slots, err := column[int64](ctx, tx, `
			SELECT slots.id FROM series JOIN slots ON slots.series = series.id JOIN pieces ON slot = slots.id
			WHERE series.backfill = ?
				AND (state = 'failed' OR EXISTS (SELECT 1 FROM vanished WHERE slot = slots.id AND vanished.reason <> ''))`, b.row)
		if err != nil {
			return err
		}
		pieces = len(slots)
		for _, slot := range slots {
			if err := requeueVanished(ctx, tx, slot); err != nil {
				return err
			}
		}
		return execEach(ctx, tx, slots, `
			UPDATE slots SET state = 'due', tries = 0, reason = '', retry_at = NULL
			WHERE id IN (SELECT CAST(value AS bigint) FROM json_each(?1)) AND state <> 'claimed'`,
			`UPDATE series SET open = newest
				WHERE id IN (SELECT series FROM slots WHERE id IN (SELECT CAST(value AS bigint) FROM json_each(?1)))`)
	})
	return pieces, err
}

// requeueVanished puts a slot's IDs that could not be looked up back into its queue.
func requeueVanished(ctx context.Context, tx *txn, slot int64) error {
	ids, err := column[string](ctx, tx, `DELETE FROM vanished WHERE slot = ? AND reason <> '' RETURNING video_id`, slot)
	if err != nil || len(ids) == 0 {
		return err
	}
	p, err := loadPiece(ctx, tx, slot)
	if err != nil {
		return err
	}
	p.waiting = append(p.waiting, ids...)
	return p.write(ctx, tx)
}

// cancelPieces is how many pieces one transaction of CancelBackfill ends, so that other writers wait only milliseconds.
const cancelPieces = 500

// CancelBackfill ends a backfill and reports whether there was anything to cancel; ErrNoBackfill if it does not exist.
// Open pieces are skipped; one that a run works on ends after the page in flight. Stored videos stay. After the first
// transaction nothing can be claimed; if the process dies later, the next call skips the remaining rows.
func (s *Store) CancelBackfill(ctx context.Context, id string, now time.Time) (cancelled bool, err error) {
	var row int64
	err = s.tx(ctx, "cancel "+id, func(tx *txn) error {
		b, err := findBackfill(ctx, tx, id)
		if err != nil {
			return err
		}
		row = b.row
		n, err := affected(tx.ExecContext(ctx, `
			UPDATE backfills SET cancelled_at = ? WHERE id = ? AND cancelled_at IS NULL AND `+hasOpenPieces,
			now.UnixMilli(), row))
		cancelled = n > 0
		return err
	})
	if err != nil {
		return false, err
	}
	err = s.runSteps(ctx, "cancel "+id, func(tx *txn) (bool, error) {
		n, err := endPieces(ctx, tx, row, now)
		if cancelled = cancelled || n > 0; err == nil && n > 0 {
			err = s.addBackfillEvent(ctx, tx, row)
		}
		return n > 0, err
	})
	return cancelled, err
}

// endPieces skips a few open pieces of a cancelled backfill that no run is working on, and returns their number.
func endPieces(ctx context.Context, tx *txn, backfill int64, now time.Time) (int, error) {
	slots, err := column[int64](ctx, tx, `
		SELECT slots.id FROM series CROSS JOIN slots ON slots.series = series.id
		WHERE backfill = ? AND open IS NOT NULL AND (state <> 'claimed' OR lease <= ?) LIMIT ?`,
		backfill, now.UnixMilli(), cancelPieces)
	if err != nil {
		return 0, err
	}
	return len(slots), execEach(ctx, tx, slots,
		`UPDATE slots SET state = 'skipped', reason = '`+cancelledReason+
			`', lease = NULL, retry_at = NULL WHERE id IN (SELECT CAST(value AS bigint) FROM json_each(?1))`,
		`UPDATE series SET open = NULL WHERE id IN (SELECT series FROM slots
			WHERE id IN (SELECT CAST(value AS bigint) FROM json_each(?1)))`)
}

// ReleaseDead makes the slots of dead runs claimable at once; died recognizes a dead run by its owner's name.
func (s *Store) ReleaseDead(ctx context.Context, now time.Time, died func(owner string) bool) error {
	owners, err := column[string](ctx, s.read,
		`SELECT DISTINCT owner FROM slots WHERE state = 'claimed' AND lease > ?`, now.UnixMilli())
	owners = slices.DeleteFunc(owners, func(owner string) bool { return !died(owner) })
	if err != nil || len(owners) == 0 {
		return s.explain(ctx, "find the slots of dead runs", err)
	}
	_, err = s.exec(ctx, "take over the slots of dead runs", `
		UPDATE slots SET lease = ?2 WHERE state = 'claimed' AND lease > ?2 AND owner IN (SELECT value FROM json_each(?1))`,
		listJSON(owners), now.UnixMilli())
	return err
}

// SetWait sets whether ingest serve may continue the backfill.
func (s *Store) SetWait(ctx context.Context, id string, wait bool) error {
	return s.updateBackfill(ctx, id, `UPDATE backfills SET wait = ? WHERE name = ?`, wait)
}

// Reprice records the cost table that the backfill was last priced with.
func (s *Store) Reprice(ctx context.Context, id, table string) error {
	return s.updateBackfill(ctx, id, `UPDATE backfills SET cost_table = ? WHERE name = ?`, table)
}

// Confirm records how much more a person agreed to spend on the backfill, by pool: a limit on its calls, by any
// process.
func (s *Store) Confirm(ctx context.Context, id string, more map[string]int64) error {
	return s.tx(ctx, "confirm "+id, func(tx *txn) error {
		b, err := findBackfill(ctx, tx, id)
		if err != nil {
			return err
		}
		confirmed := map[string]int64{}
		for pool, n := range more {
			confirmed[pool] = b.Charges[pool] + n
		}
		_, err = tx.ExecContext(ctx, `UPDATE backfills SET confirmed = ? WHERE id = ?`, asJSON{confirmed}, b.row)
		return err
	})
}

func (s *Store) updateBackfill(ctx context.Context, id, query string, to any) error {
	n, err := s.exec(ctx, "change "+id, query, to, id)
	if err == nil && n == 0 {
		err = fmt.Errorf("change %s: %w", id, ErrNoBackfill)
	}
	return err
}

// NoteSizes stores, by key, how many videos the caller expects pieces to bring. That leaves their requests unchanged.
// Unknown keys are ignored; ErrNoBackfill if there is no such backfill.
func (s *Store) NoteSizes(ctx context.Context, id string, videos map[string]int) error {
	if len(videos) == 0 {
		return nil
	}
	sizes := make([][2]any, 0, len(videos))
	for key, n := range videos {
		sizes = append(sizes, [2]any{key, n})
	}
	return s.tx(ctx, "note how much "+id+" is", func(tx *txn) error {
		b, err := findBackfill(ctx, tx, id)
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, `
			UPDATE pieces SET spec = json_set(spec, '$.videos', CAST(given.value ->> 1 AS bigint))
			FROM json_each(?1) AS given JOIN series ON job = ?2 AND series.key = given.value ->> 0
				JOIN slots ON slots.series = series.id
			WHERE pieces.slot = slots.id`, listJSON(sizes), b.Job())
		return err
	})
}

// SearchPieces returns a search's open pieces, and its listed ones that are no longer open.
func (s *Store) SearchPieces(ctx context.Context, id string) (open, listed []ingest.Piece, err error) {
	type row struct {
		ingest.Piece
		open bool
	}
	rows, err := collectView(ctx, s.database, "read the pieces of "+id, func(from scanner) (r row, err error) {
		err = from.Scan(&r.open, asJSON{&r.Spec}, asJSON{&r.Listing})
		return r, err
	}, `
		SELECT open IS NOT NULL, pieces.spec, listing FROM backfills
		JOIN series ON series.backfill = backfills.id JOIN slots ON slots.series = series.id JOIN pieces ON slot = slots.id
		WHERE name = ? AND (open IS NOT NULL OR listing <> '{}')`, id)
	for _, r := range rows {
		if r.open {
			open = append(open, r.Piece)
		} else {
			listed = append(listed, r.Piece)
		}
	}
	return open, listed, err
}

// OpenSizes returns the sizes stored by NoteSizes for the open pieces.
func (s *Store) OpenSizes(ctx context.Context, id string) (map[string]int, error) {
	sizes, err := pairs[string, int](ctx, s.read, `
		SELECT series.key, pieces.spec ->> 'videos'
		FROM backfills JOIN series ON series.backfill = backfills.id AND open IS NOT NULL
		JOIN slots ON slots.series = series.id JOIN pieces ON slot = slots.id
		WHERE name = ? AND pieces.spec ->> 'videos' IS NOT NULL`, id)
	return sizes, s.explain(ctx, "find how much "+id+" is", err)
}

// addBackfillEvent writes the event of a backfill without open pieces. Callers have just ended a piece.
func (s *Store) addBackfillEvent(ctx context.Context, tx *txn, backfill int64) error {
	if !s.wants(ingest.BackfillEnded) {
		return nil
	}
	b, err := scanBackfill(tx.QueryRowContext(ctx, selectBackfills+` WHERE id = ? AND NOT `+hasOpenPieces, backfill))
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	pieces, err := pairs[ingest.State, int](ctx, tx, `
		SELECT state, count(*) FROM series JOIN slots ON slots.series = series.id WHERE backfill = ? GROUP BY state`,
		backfill)
	if err != nil {
		return err
	}
	return s.addEvent(ctx, tx, ingest.BackfillEnded,
		ingest.EndedBackfill{ID: b.ID, Kind: b.Kind, Cancelled: !b.Cancelled.IsZero(), Pieces: pieces, Charges: b.Charges})
}

// addPieceEvent is addBackfillEvent for a slot that may be a piece and may have ended.
func (s *Store) addPieceEvent(ctx context.Context, tx *txn, series int64, slot ingest.Slot) error {
	if slot.Kind != ingest.KindBackfill || slot.State == ingest.Claimed || slot.State == ingest.Due ||
		slot.State == ingest.Stopped || !s.wants(ingest.BackfillEnded) {
		return nil
	}
	var backfill int64
	if err := tx.QueryRowContext(ctx, `SELECT backfill FROM series WHERE id = ?`, series).Scan(&backfill); err != nil {
		return err
	}
	return s.addBackfillEvent(ctx, tx, backfill)
}
