package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/trendvidstream/ingest"
)

// ErrNoBackfill is returned for a backfill that the store does not have.
var ErrNoBackfill = errors.New("there is no such backfill")

// AddBackfill adds a plan with its pieces, in one transaction, and gives it its id. Pieces are read one by
// one while other writers wait; an error among them adds nothing. Where an open plan asks for the same
// already, added is false, that one is returned, and no piece is read.
func (s *Store) AddBackfill(ctx context.Context, b ingest.Backfill, pieces iter.Seq2[ingest.Piece, error]) (_ ingest.Backfill, added bool, err error) {
	b.Created = b.Created.UTC().Truncate(time.Millisecond)
	b.Cancelled = time.Time{}
	err = s.tx(ctx, "add a backfill", func(tx *txn) error {
		same, err := scanBackfill(tx.QueryRowContext(ctx, selectBackfills+`
			WHERE identity = ? AND cancelled_at IS NULL AND `+hasOpenPieces+` ORDER BY id DESC LIMIT 1`, b.Identity()))
		if err == nil {
			b, added = same.Backfill, false
			return nil
		}
		if !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		added = true
		id, err := insertBackfill(ctx, tx, &b)
		if err != nil {
			return err
		}
		add, err := newPieceAdder(ctx, tx, b, id)
		if err != nil {
			return err
		}
		n := int64(0)
		for piece, err := range pieces {
			if err != nil {
				return err
			}
			if n++; n%1000 == 0 && ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if fresh, err := add.add(ctx, piece, n); err != nil {
				return err
			} else if !fresh {
				return fmt.Errorf("two pieces are called %q", piece.Key)
			}
		}
		return nil
	})
	return b, added && err == nil, err
}

// insertBackfill writes the plan's own row and names it.
func insertBackfill(ctx context.Context, tx *txn, b *ingest.Backfill) (id int64, err error) {
	spec, err := json.Marshal(b.Spec)
	if err != nil {
		return 0, err
	}
	err = tx.QueryRowContext(ctx, `
		INSERT INTO backfills (name, kind, identity, spec, cost_table, wait, created_at) VALUES ('', ?, ?, ?, ?, ?, ?)
		RETURNING id`, b.Kind, b.Identity(), string(spec), b.Table, b.Wait, b.Created.UnixMilli()).Scan(&id)
	if err != nil {
		return 0, err
	}
	return id, tx.QueryRowContext(ctx, `UPDATE backfills SET name = 'bf-' || id WHERE id = ? RETURNING name`, id).Scan(&b.ID)
}

// RetryBackfill makes the pieces that failed, and those with ids that could not be looked up, due again, and
// says how many. A cancelled backfill has none, and what a piece asks for must not have been lost.
func (s *Store) RetryBackfill(ctx context.Context, id string) (pieces int, err error) {
	err = s.tx(ctx, "retry what failed of "+id, func(tx *txn) error {
		b, err := findBackfill(ctx, tx, id)
		if err != nil || !b.Cancelled.IsZero() {
			return err
		}
		slots, err := regain(ctx, tx, b.row)
		if err != nil {
			return err
		}
		err = each(ctx, tx, func(rows *sql.Rows) error {
			var slot int64
			err := rows.Scan(&slot)
			slots[slot] = true
			return err
		}, `SELECT slots.id FROM series JOIN slots ON slots.series = series.id 
			WHERE backfill = ? AND state = 'failed' AND EXISTS (SELECT 1 FROM pieces WHERE slot = slots.id)`, b.row)
		if err != nil {
			return err
		}
		pieces = len(slots)
		for slot := range slots {
			for _, q := range []string{
				`UPDATE slots SET state = 'due', tries = 0, reason = '', retry_at = NULL WHERE id = ? AND state <> 'claimed'`,
				`UPDATE series SET open = newest WHERE id = (SELECT series FROM slots WHERE id = ?)`,
			} {
				if _, err := tx.ExecContext(ctx, q, slot); err != nil {
					return err
				}
			}
		}
		return nil
	})
	return pieces, err
}

// regain lets the ids that could not be looked up wait again, and says in which slots.
func regain(ctx context.Context, tx *txn, backfill int64) (map[int64]bool, error) {
	slots, ids := map[int64]bool{}, map[int64][]string{}
	err := each(ctx, tx, func(rows *sql.Rows) error {
		var slot int64
		var id string
		err := rows.Scan(&slot, &id)
		slots[slot], ids[slot] = true, append(ids[slot], id)
		return err
	}, `SELECT slot, video_id FROM pieces JOIN vanished USING (slot) WHERE backfill = ? AND reason <> ''`, backfill)
	if err != nil {
		return nil, err
	}
	for slot := range slots {
		p, err := loadPiece(ctx, tx, slot)
		if err != nil {
			return nil, err
		}
		p.waiting = append(p.waiting, ids[slot]...)
		if err := p.write(ctx, tx); err != nil {
			return nil, err
		}
		if _, err := tx.ExecContext(ctx, `DELETE FROM vanished WHERE slot = ? AND reason <> ''`, slot); err != nil {
			return nil, err
		}
	}
	return slots, nil
}

// SetWait says whether ingest serve may carry the backfill on.
func (s *Store) SetWait(ctx context.Context, id string, wait bool) error {
	return s.change(ctx, id, `UPDATE backfills SET wait = ? WHERE name = ?`, wait)
}

// Reprice notes the table of costs that the backfill was last priced under.
func (s *Store) Reprice(ctx context.Context, id, table string) error {
	return s.change(ctx, id, `UPDATE backfills SET cost_table = ? WHERE name = ?`, table)
}

func (s *Store) change(ctx context.Context, id, query string, to any) error {
	return s.tx(ctx, "change "+id, func(tx *txn) error {
		n, err := affected(tx.ExecContext(ctx, query, to, id))
		if err == nil && n == 0 {
			err = fmt.Errorf("%w: %s", ErrNoBackfill, id)
		}
		return err
	})
}
