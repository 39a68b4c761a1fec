package store

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/trendvidstream/ingest"
)

// longestID bounds the length of a stored id, in bytes: a longer text is not taken for an id.
const longestID = 100

// Enqueue implements fetch.Sink.
func (s *Store) Enqueue(ctx context.Context, slot ingest.Slot, ids []string, since time.Time, halves ...ingest.Piece) (ingest.Slot, error) {
	slot = s.stamp(slot)
	return s.onPiece(ctx, "queue ids for lookup", &slot, func(tx *txn, p *piece) error {
		if err := p.enqueue(ctx, tx, ids, since); err != nil || len(halves) == 0 || p.cancelled {
			return err
		}
		if !p.backfill.Valid {
			return fmt.Errorf("%s is no backfill: it takes no pieces", slot.Job)
		}
		b, err := scanBackfill(tx.QueryRowContext(ctx, selectBackfills+` WHERE id = ?`, p.backfill.Int64))
		if err != nil {
			return err
		}
		for _, half := range halves {
			if _, err := addPiece(ctx, tx, b, half, 0); err != nil { // an existing one was added before a restart
				return err
			}
		}
		return nil
	})
}

// met selects the ids in ?1, a JSON array, that slot ?2 of backfill ?3 need not look up: their videos were fetched at
// ?4 or later, or they wait in, or could not be looked up by, that slot or one of its backfill.
const met = `
SELECT given.value FROM json_each(?1) AS given
WHERE EXISTS (SELECT 1 FROM videos WHERE video_id = given.value AND fetched_at >= ?4)
   OR EXISTS (SELECT 1 FROM vanished JOIN pieces USING (slot) WHERE video_id = given.value AND (slot = ?2 OR backfill = ?3))
   OR given.value IN (SELECT w.value FROM pieces CROSS JOIN json_each(waiting) AS w WHERE backfill = ?3 AND waiting <> '[]')`

// enqueue adds the ids that are not met yet to the queue.
func (p *piece) enqueue(ctx context.Context, tx *txn, ids []string, since time.Time) error {
	ids = slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return id == "" || len(id) > longestID })
	if len(ids) == 0 {
		return nil
	}
	known, err := column[string](ctx, tx, met, listJSON(ids), p.slot, p.backfill, since.UnixMilli())
	if err != nil {
		return err
	}
	skip := map[string]bool{}
	for _, id := range slices.Concat(known, p.waiting) {
		skip[id] = true
	}
	for _, id := range ids {
		if skip[id] {
			p.known++
			continue
		}
		skip[id] = true
		p.waiting = append(p.waiting, id)
	}
	return nil
}

// Queued implements fetch.Library. A missing piece of a backfill is an error, as in Piece.
func (s *Store) Queued(ctx context.Context, slot ingest.SlotKey, n int, since time.Time) ([]string, error) {
	ids, err := column[string](ctx, s.read, `
		SELECT w.value FROM series
		CROSS JOIN slots ON slots.series = series.id CROSS JOIN pieces ON slot = slots.id CROSS JOIN json_each(waiting) AS w
		WHERE job = ? AND series.key = ? AND due_at = ?
		  AND NOT EXISTS (SELECT 1 FROM videos WHERE video_id = w.value AND fetched_at >= ?)
		GROUP BY w.value ORDER BY min(w.id) LIMIT ?`, slot.Job, slot.Key, slot.DueAt.Unix(), since.UnixMilli(), n)
	if err == nil && len(ids) == 0 {
		_, err = s.Piece(ctx, slot)
		return nil, err
	}
	return ids, s.explain(ctx, "read the ids to look up", err)
}

// SaveFound implements fetch.Sink. A video that nobody asked for is left out. A refresh does not count as a sighting.
func (s *Store) SaveFound(ctx context.Context, slot ingest.Slot, asked []string, page ingest.Page) (ingest.Slot, error) {
	slot, page = s.stamp(slot), s.engine.plain(page)
	return s.onPiece(ctx, "save what was looked up", &slot, func(tx *txn, p *piece) error {
		found, gone, err := putRequested(ctx, tx, slot.FetchedAt, asked, page.Videos, p.kind != ingest.BackfillRefresh)
		if err != nil {
			return err
		}
		slot.Videos += found
		for _, id := range gone {
			if err := p.recordVanished(ctx, tx, id, "", slot.FetchedAt.UnixMilli()); err != nil {
				return err
			}
		}
		p.dequeue(asked...)
		return nil
	})
}
