package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/trendvidstream/ingest"
)

// piecesAtOnce is how many pieces one transaction adds or deletes, so that other writers wait only milliseconds.
const piecesAtOnce = 200

// errDropped means that another process took over an unfinished plan because it looked abandoned.
var errDropped = errors.New("another process has planned the same in the meantime: " +
	"ingest backfill status shows its plan")

// AddBackfill adds a plan with its pieces and assigns its ID. It reads the pieces outside of transactions and adds
// them in steps between which others can write; until the last step the plan is invisible and cannot be claimed. If
// reading a piece fails, nothing is added. The unfinished plan of a process that died is dropped when the same is
// planned again, or by Sweep. If an open plan asks for the same, added is false, that plan is returned, and no piece
// is read.
func (s *Store) AddBackfill(ctx context.Context, b ingest.Backfill,
	pieces iter.Seq2[ingest.Piece, error]) (_ ingest.Backfill, added bool, err error) {
	b.Created = b.Created.UTC().Truncate(time.Millisecond)
	b.Cancelled = time.Time{}
	var plan BackfillStatus
	err = s.tx(ctx, "add a backfill", func(tx *txn) (err error) {
		plan, err = scanBackfill(tx.QueryRowContext(ctx, selectBackfills+`
			WHERE identity = ? AND ready AND cancelled_at IS NULL AND `+hasOpenPieces+` ORDER BY id DESC LIMIT 1`, b.Identity()))
		if added = errors.Is(err, sql.ErrNoRows); added {
			plan, err = insertBackfill(ctx, tx, b)
		}
		return err
	})
	if err != nil || !added {
		return plan.Backfill, false, err
	}
	var batch []ingest.Piece
	n := int64(0)
	add := func(last bool) error {
		err := s.tx(ctx, "add a backfill", func(tx *txn) error { return addBatch(ctx, tx, plan, batch, n, last, s.now()) })
		n, batch = n+int64(len(batch)), batch[:0]
		return err
	}
	for piece, failed := range pieces {
		if err = failed; err == nil {
			if batch = append(batch, piece); len(batch) == piecesAtOnce {
				err = add(false)
			}
		}
		if err != nil {
			break
		}
	}
	if err == nil {
		err = add(true)
	}
	if err != nil {
		return plan.Backfill, false, errors.Join(err, s.dropPlans(ctx, plan.row, s.now()))
	}
	return plan.Backfill, true, s.dropPlans(ctx, 0, s.now())
}

// insertBackfill inserts the plan's row and names the plan. It cancels unfinished plans that ask for the same.
func insertBackfill(ctx context.Context, tx *txn, b ingest.Backfill) (BackfillStatus, error) {
	plan := BackfillStatus{Backfill: b}
	if _, err := tx.ExecContext(ctx, `UPDATE backfills SET cancelled_at = ? WHERE identity = ? AND NOT ready`,
		b.Created.UnixMilli(), b.Identity()); err != nil {
		return plan, err
	}
	err := tx.QueryRowContext(ctx, `
		INSERT INTO backfills (name, kind, identity, spec, cost_table, wait, created_at, ready)
			VALUES ('', ?, ?, ?, ?, ?, ?, ?)
		RETURNING id`, b.Kind, b.Identity(), asJSON{b.Spec}, b.Table, b.Wait, b.Created.UnixMilli(), false).Scan(&plan.row)
	if err != nil {
		return plan, err
	}
	err = tx.QueryRowContext(ctx, `UPDATE backfills SET name = 'bf-' || id WHERE id = ? RETURNING name`,
		plan.row).Scan(&plan.ID)
	return plan, err
}

// addBatch adds pieces after the first n of a plan; the last batch makes the plan visible. Until then created_at is
// the time of the newest batch, which shows whether the process has died.
func addBatch(ctx context.Context, tx *txn, plan BackfillStatus, batch []ingest.Piece, n int64,
	last bool, now time.Time) error {
	at := now
	if last {
		at = plan.Created
	}
	kept, err := affected(tx.ExecContext(ctx, `UPDATE backfills SET ready = ?, created_at = ?
		WHERE id = ? AND cancelled_at IS NULL`, last, at.UnixMilli(), plan.row))
	if err != nil {
		return err
	}
	if kept == 0 {
		return errDropped
	}
	return addPieces(ctx, tx, plan, batch, n)
}

// addPieces adds pieces after the first n of a backfill. A piece that is a span of time is ordered by its beginning.
func addPieces(ctx context.Context, tx *txn, b BackfillStatus, pieces []ingest.Piece, n int64) error {
	if len(pieces) == 0 {
		return nil
	}
	named, keys := make([][2]any, len(pieces)), map[string]bool{}
	for i, p := range pieces {
		if keys[p.Key] {
			return fmt.Errorf("two pieces are called %q", p.Key)
		}
		keys[p.Key] = true
		named[i] = [2]any{p.Key, n + int64(i) + 1}
		if !p.Spec.Before.IsZero() {
			named[i][1] = p.Spec.After.Unix()
		}
	}
	// No statement joins rows that an earlier one inserted: without statistics about them, a planner would read all
	// pieces of the plan for each.
	series, err := pairs[string, int64](ctx, tx, `
		INSERT INTO series (job, key, newest, open, backfill, place)
		SELECT ?2, value ->> 0, ?3, ?3, ?4, CAST(value ->> 1 AS bigint) FROM json_each(?1)
		RETURNING key, id`, listJSON(named), b.Job(), b.Created.Unix(), b.row)
	if err != nil {
		return err
	}
	ids := make([]int64, len(pieces))
	for i, p := range pieces {
		ids[i] = series[p.Key]
	}
	slots, err := pairs[int64, int64](ctx, tx, `
		INSERT INTO slots (series, due_at, kind, state)
		SELECT CAST(value AS bigint), ?2, 'backfill', 'due' FROM json_each(?1)
		RETURNING series, id`, listJSON(ids), b.Created.Unix())
	if err != nil {
		return err
	}
	rows := make([][3]any, len(pieces))
	for i, p := range pieces {
		rows[i] = [3]any{slots[ids[i]], p.Spec, append([]string{}, p.IDs...)}
	}
	_, err = tx.ExecContext(ctx, `
		INSERT INTO pieces (slot, backfill, spec, waiting)
		SELECT CAST(value ->> 0 AS bigint), ?2, value ->> 1, value ->> 2 FROM json_each(?1)`, listJSON(rows), b.row)
	return err
}

// dropPlans deletes a plan in steps: the given row or, if that is 0, an unfinished one that was cancelled or
// abandoned.
func (s *Store) dropPlans(ctx context.Context, row int64, now time.Time) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), dropWithin)
	defer cancel()
	if row == 0 {
		rows, err := column[int64](ctx, s.read, `SELECT id FROM backfills WHERE NOT ready
			AND (cancelled_at IS NOT NULL OR created_at < ?) LIMIT 1`, now.Add(-plansFor).UnixMilli())
		if err != nil || len(rows) == 0 {
			return s.explain(ctx, "look for plans that were given up", err)
		}
		row = rows[0]
	}
	return s.runSteps(ctx, "drop a plan that is not complete", func(tx *txn) (more bool, err error) {
		if _, err := tx.ExecContext(ctx, `UPDATE backfills SET cancelled_at = ? WHERE id = ? AND NOT ready
			AND cancelled_at IS NULL`, now.UnixMilli(), row); err != nil {
			return false, err // from here on its process can add nothing
		}
		series, err := column[int64](ctx, tx, `
			SELECT id FROM series WHERE backfill = ?1 AND EXISTS (SELECT 1 FROM backfills WHERE id = ?1 AND NOT ready)
				LIMIT ?2`, row, piecesAtOnce)
		if err != nil {
			return false, err
		}
		if len(series) == 0 {
			_, err := tx.ExecContext(ctx, `DELETE FROM backfills WHERE id = ? AND NOT ready`, row)
			return false, err
		}
		return true, execEach(ctx, tx, series,
			`DELETE FROM pieces WHERE slot IN (SELECT id FROM slots
				WHERE series IN (SELECT CAST(value AS bigint) FROM json_each(?1)))`,
			`DELETE FROM slots WHERE series IN (SELECT CAST(value AS bigint) FROM json_each(?1))`,
			`DELETE FROM series WHERE id IN (SELECT CAST(value AS bigint) FROM json_each(?1))`)
	})
}

const (
	dropWithin = 4 * time.Second  // bounds dropPlans; the next Sweep continues
	plansFor   = 10 * time.Minute // without a new piece a plan is abandoned
)
