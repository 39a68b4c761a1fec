package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"github.com/trendvidstream/ingest"
)

// cancelledReason is the reason of skipped pieces of a cancelled backfill.
const cancelledReason = "the backfill was cancelled"

// Piece implements fetch.Library. A scheduled slot that has never queued an ID has a zero piece; a missing piece of a
// backfill is an error, since without it the slot would ask for everything or nothing.
func (s *Store) Piece(ctx context.Context, slot ingest.SlotKey) (ingest.Piece, error) {
	piece := ingest.Piece{Key: slot.Key}
	err := s.read.QueryRowContext(ctx, `
		SELECT spec FROM series JOIN slots ON slots.series = series.id JOIN pieces ON slot = slots.id
		WHERE job = ? AND key = ? AND due_at = ?`, slot.Job, slot.Key, slot.DueAt.Unix()).Scan(asJSON{&piece.Spec})
	if errors.Is(err, sql.ErrNoRows) {
		if _, backfill := ingest.IsBackfillJob(slot.Job); !backfill {
			return piece, nil
		}
		err = fmt.Errorf("%s %s has lost what it asks for: run ingest doctor --repair", slot.Job, slot.Key)
	}
	return piece, s.explain(ctx, "read a piece of a backfill", err)
}

// Restart implements fetch.Sink.
func (s *Store) Restart(ctx context.Context, slot ingest.Slot, pages int) (ingest.Slot, error) {
	return s.onPiece(ctx, "begin a piece again", &slot, func(_ *txn, p *piece) error {
		p.again += pages
		return nil
	})
}

// GiveUp implements fetch.Sink.
func (s *Store) GiveUp(ctx context.Context, slot ingest.Slot, id, reason string) (ingest.Slot, error) {
	return s.onPiece(ctx, "give an id up", &slot, func(tx *txn, p *piece) error {
		p.dequeue(id)
		return p.recordVanished(ctx, tx, id, reason, s.now().UnixMilli())
	})
}

// piece is a row of pieces, for a fenced slot.
type piece struct {
	slot     int64
	backfill sql.NullInt64
	kind     ingest.BackfillKind // "": of no backfill
	waiting  []string
	known    int
	again    int

	cancelled bool // the backfill was cancelled
}

// onPiece changes a slot's piece and then writes the slot's progress, in one transaction under the fence. f may change
// the slot as well. onPiece returns the slot as written.
func (s *Store) onPiece(ctx context.Context, doing string, slot *ingest.Slot, f func(*txn, *piece) error) (ingest.Slot, error) {
	err := s.withFence(ctx, doing, slot, func(tx *txn, id, _ int64) error {
		p, err := loadPiece(ctx, tx, id)
		if err != nil {
			return err
		}
		if err := f(tx, &p); err != nil {
			return err
		}
		if slot.State == ingest.Done {
			p.countWaiting()
		}
		if p.cancelled && slot.State == ingest.Claimed {
			slot.State, slot.Reason = ingest.Skipped, cancelledReason
		}
		return p.write(ctx, tx)
	})
	return *slot, err
}

// endPiece updates a slot's piece when the slot ends without saving a page. If the backfill was cancelled meanwhile,
// the slot becomes skipped instead of due or stopped.
func endPiece(ctx context.Context, tx *txn, id int64, slot *ingest.Slot) error {
	if slot.Kind != ingest.KindBackfill && slot.Kind != ingest.KindSearch {
		return nil
	}
	p, err := loadPiece(ctx, tx, id)
	if err != nil {
		return err
	}
	if p.cancelled && (slot.State == ingest.Due || slot.State == ingest.Stopped) {
		slot.State, slot.Reason = ingest.Skipped, cancelledReason
	}
	if slot.State != ingest.Done || len(p.waiting) == 0 {
		return nil
	}
	p.countWaiting()
	return p.write(ctx, tx)
}

// countWaiting counts IDs that wait at the end as known: others have fetched their videos meanwhile.
func (p *piece) countWaiting() {
	p.known += len(p.waiting)
	p.waiting = nil
}

// loadPiece reads the piece of a slot. A slot without one gets it when the piece is written.
func loadPiece(ctx context.Context, tx *txn, slot int64) (piece, error) {
	p := piece{slot: slot}
	err := tx.QueryRowContext(ctx, `
		SELECT backfill, coalesce(kind, ''), waiting, known, again, cancelled_at IS NOT NULL
		FROM pieces LEFT JOIN backfills ON backfills.id = backfill WHERE slot = ?`, slot).
		Scan(&p.backfill, &p.kind, asJSON{&p.waiting}, &p.known, &p.again, &p.cancelled)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return p, err
}

// write writes the piece back.
func (p piece) write(ctx context.Context, tx *txn) error {
	_, err := tx.ExecContext(ctx, `
		INSERT INTO pieces (slot, waiting, known, again) VALUES (?, ?, ?, ?)
		ON CONFLICT (slot) DO UPDATE SET waiting = excluded.waiting, known = excluded.known, again = excluded.again`,
		p.slot, listJSON(p.waiting), p.known, p.again)
	return err
}

// dequeue removes IDs from the queue.
func (p *piece) dequeue(ids ...string) {
	p.waiting = slices.DeleteFunc(p.waiting, func(id string) bool { return slices.Contains(ids, id) })
}

// recordVanished records an ID that could not be looked up.
func (p *piece) recordVanished(ctx context.Context, tx *txn, id, reason string, at int64) error {
	_, err := tx.ExecContext(ctx, `
		INSERT INTO vanished (video_id, slot, reason, noted_at) VALUES (?, ?, ?, ?)
		ON CONFLICT (video_id, slot) DO UPDATE SET reason = excluded.reason, noted_at = excluded.noted_at`, id, p.slot, reason, at)
	return err
}

// addPiece adds a piece, the nth given, to a backfill; fresh is false if the backfill already has one with that key. A
// piece that is a span of time is placed by its beginning.
func addPiece(ctx context.Context, tx *txn, b BackfillStatus, p ingest.Piece, n int64) (fresh bool, err error) {
	if !p.Spec.Before.IsZero() {
		n = p.Spec.After.Unix()
	}
	due := b.Created.Unix()
	var series, slot int64
	err = tx.QueryRowContext(ctx, `
		INSERT INTO series (job, key, newest, open, backfill, place) VALUES (?1, ?2, ?3, ?3, ?4, ?5) ON CONFLICT DO NOTHING RETURNING id`,
		b.Job(), p.Key, due, b.row, n).Scan(&series)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	err = tx.QueryRowContext(ctx, `INSERT INTO slots (series, due_at, kind, state) VALUES (?, ?, 'backfill', 'due') RETURNING id`, series, due).Scan(&slot)
	if err != nil {
		return false, err
	}
	_, err = tx.ExecContext(ctx, `INSERT INTO pieces (slot, backfill, spec, waiting) VALUES (?, ?, ?, ?)`,
		slot, b.row, asJSON{p.Spec}, listJSON(p.IDs))
	return err == nil, err
}
