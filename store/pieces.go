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

// cancelledReason is the reason of skipped pieces of a cancelled backfill.
const cancelledReason = "the backfill was cancelled"

// Piece implements fetch.Library. A scheduled slot that has never queued an ID has the listing of the series' newest
// slot before it that has one; a missing piece of a backfill is an error, since its request is lost.
func (s *Store) Piece(ctx context.Context, slot ingest.SlotKey) (ingest.Piece, error) {
	piece := ingest.Piece{Key: slot.Key}
	err := s.read.QueryRowContext(ctx, `
		SELECT spec, listing FROM series JOIN slots ON slots.series = series.id JOIN pieces ON slot = slots.id
		WHERE job = ? AND key = ? AND due_at = ?`, slot.Job, slot.Key, slot.DueAt.Unix()).Scan(asJSON{&piece.Spec},
		asJSON{&piece.Listing})
	if errors.Is(err, sql.ErrNoRows) {
		if _, backfill := ingest.IsBackfillJob(slot.Job); !backfill {
			err = s.read.QueryRowContext(ctx, `
				SELECT listing FROM series JOIN slots ON slots.series = series.id JOIN pieces ON slot = slots.id
				WHERE job = ? AND key = ? AND due_at < ? ORDER BY due_at DESC LIMIT 1`, slot.Job, slot.Key,
				slot.DueAt.Unix()).Scan(asJSON{&piece.Listing})
			if errors.Is(err, sql.ErrNoRows) {
				err = nil
			}
			return piece, s.explain(ctx, "read the note of a channel", err)
		}
		err = fmt.Errorf("%v has lost its request: run ingest doctor --repair", slot.Series())
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
		return p.recordVanished(ctx, tx, []string{id}, reason, s.now())
	})
}

// piece is a row of pieces of a fenced slot.
type piece struct {
	slot     int64
	backfill sql.NullInt64
	kind     ingest.BackfillKind // "": no backfill
	upkeep   ingest.Upkeep
	waiting  []string
	known    int
	again    int
	listing  ingest.Listing

	cancelled bool // the backfill was cancelled
}

// onPiece changes a slot's piece and writes the slot's progress, in one transaction under the fence, and returns the
// slot as written. f may change the slot too.
func (s *Store) onPiece(ctx context.Context, doing string, slot *ingest.Slot,
	f func(*txn, *piece) error) (ingest.Slot, error) {
	err := s.withFence(ctx, doing, slot, func(tx *txn, id, _ int64) error {
		p, err := loadPiece(ctx, tx, id)
		if err != nil {
			return err
		}
		if err := f(tx, &p); err != nil {
			return err
		}
		if slot.Listing != nil {
			p.listing = *slot.Listing
		}
		slot.Unsaved = 0
		return p.follow(ctx, tx, slot)
	})
	return *slot, err
}

// endPiece updates a slot's piece when the slot ends without saving a page.
func endPiece(ctx context.Context, tx *txn, id int64, slot *ingest.Slot) error {
	if !slices.Contains([]ingest.Kind{ingest.KindBackfill, ingest.KindSearch, ingest.KindUploads,
		ingest.KindVideos}, slot.Kind) {
		return nil
	}
	p, err := loadPiece(ctx, tx, id)
	if err != nil || slot.Kind != ingest.KindBackfill && len(p.waiting) == 0 { // it may have none
		return err
	}
	return p.follow(ctx, tx, slot)
}

// follow writes the piece, and ends the slot if its backfill was cancelled. IDs still waiting at the end count as
// known: others have fetched their videos. The ids of a channel's uploads go on waiting, for the look-up of all
// channels.
func (p *piece) follow(ctx context.Context, tx *txn, slot *ingest.Slot) error {
	switch slot.State {
	case ingest.Done:
		if slot.Kind == ingest.KindUploads && slot.Key != "" {
			break
		}
		if err := p.mark(ctx, tx, p.waiting); err != nil {
			return err
		}
		p.known, p.waiting = p.known+len(p.waiting), nil
	case ingest.Claimed, ingest.Due, ingest.Stopped:
		if p.cancelled {
			slot.State, slot.Reason = ingest.Skipped, cancelledReason
		}
	case ingest.Failed, ingest.Skipped, ingest.Missed:
	}
	return p.write(ctx, tx)
}

// mark sets the backfill's upkeep on its stored videos.
func (p *piece) mark(ctx context.Context, tx *txn, ids []string) error {
	if p.upkeep == "" {
		return nil
	}
	return execJSON(ctx, tx, `
		UPDATE video_latest SET upkeep = iif(?2, 1, 0)
		WHERE id IN (SELECT id FROM video_facts WHERE video_id IN (SELECT value FROM json_each(?1)))`,
		ids, p.upkeep == ingest.KeepFresh)
}

// loadPiece reads the piece of a slot, a new one if there is none.
func loadPiece(ctx context.Context, tx *txn, slot int64) (piece, error) {
	p := piece{slot: slot}
	err := tx.QueryRowContext(ctx, `
		SELECT backfill, coalesce(kind, ''), coalesce(backfills.spec ->> 'upkeep', ''), waiting, known, again, listing,
			cancelled_at IS NOT NULL
		FROM pieces LEFT JOIN backfills ON backfills.id = backfill WHERE slot = ?`, slot).
		Scan(&p.backfill, &p.kind, &p.upkeep, asJSON{&p.waiting}, &p.known, &p.again, asJSON{&p.listing}, &p.cancelled)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return p, err
}

// write stores the piece; none of its calls is in flight any more.
func (p piece) write(ctx context.Context, tx *txn) error {
	_, err := tx.ExecContext(ctx, `
		INSERT INTO pieces (slot, waiting, known, again, listing) VALUES (?, ?, ?, ?, ?)
		ON CONFLICT (slot) DO UPDATE SET waiting = excluded.waiting, known = excluded.known, again = excluded.again,
			listing = excluded.listing, unsaved = 0`,
		p.slot, listJSON(p.waiting), p.known, p.again, asJSON{p.listing})
	return err
}

func (p *piece) dequeue(ids ...string) {
	p.waiting = slices.DeleteFunc(p.waiting, func(id string) bool { return slices.Contains(ids, id) })
}

func (p *piece) recordVanished(ctx context.Context, tx *txn, ids []string, reason string, at time.Time) error {
	return execJSON(ctx, tx, `
		INSERT INTO vanished (video_id, slot, reason, noted_at) SELECT value, ?2, ?3, ?4 FROM json_each(?1) WHERE true
		ON CONFLICT (video_id, slot) DO UPDATE SET reason = excluded.reason, noted_at = excluded.noted_at`,
		ids, p.slot, reason, at.UnixMilli())
}

// longestID is the greatest length of an id, in bytes; longer texts are ignored.
const longestID = 100

// Enqueue implements fetch.Sink.
func (s *Store) Enqueue(ctx context.Context, slot ingest.Slot, ids []string, since time.Time,
	rest ...ingest.Piece) (ingest.Slot, error) {
	slot = s.stamp(slot)
	return s.onPiece(ctx, "queue ids for lookup", &slot, func(tx *txn, p *piece) error {
		if slot.Kind == ingest.KindUploads && slot.Key == "" {
			return p.takeOver(ctx, tx, slot.Job)
		}
		if slot.Kind == ingest.KindVideos {
			var err error
			if ids, err = notInVain(ctx, tx, p.slot, ids, slot.DueAt.Add(-vainFor)); err != nil {
				return err
			}
		}
		if err := p.enqueue(ctx, tx, ids, since); err != nil || len(rest) == 0 || p.cancelled {
			return err
		}
		if !p.backfill.Valid {
			return fmt.Errorf("%s is no backfill: it takes no pieces", slot.Job)
		}
		b, err := scanBackfill(tx.QueryRowContext(ctx, selectBackfills+` WHERE id = ?`, p.backfill.Int64))
		if err != nil {
			return err
		}
		var keys []string
		for _, p := range rest {
			keys = append(keys, p.Key)
		}
		known, err := column[string](ctx, tx,
			`SELECT key FROM series WHERE job = ? AND key IN (SELECT value FROM json_each(?))`, b.Job(), listJSON(keys))
		if err != nil {
			return err
		}
		return addPieces(ctx, tx, b, slices.DeleteFunc(slices.Clone(rest), func(p ingest.Piece) bool {
			return slices.Contains(known, p.Key) // it was added before a restart
		}), 0)
	})
}

// alreadyKnown selects the ids of ?1, a JSON array, that slot ?2 of backfill ?3 need not look up: their videos were
// fetched at ?4 or later, or they wait in a slot of the backfill, or it could not look them up.
const alreadyKnown = `
SELECT given.value FROM json_each(?1) AS given
WHERE EXISTS (SELECT 1 FROM videos WHERE video_id = given.value AND fetched_at >= ?4)
   OR EXISTS (SELECT 1 FROM vanished JOIN pieces USING (slot) WHERE video_id = given.value
       AND (slot = ?2 OR backfill = ?3))
   OR given.value IN (SELECT w.value FROM pieces CROSS JOIN json_each(waiting) AS w WHERE backfill = ?3
       AND waiting <> '[]')`

// enqueue queues the new ids, and marks the videos of known ids.
func (p *piece) enqueue(ctx context.Context, tx *txn, ids []string, since time.Time) error {
	ids = slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return id == "" || len(id) > longestID })
	if len(ids) == 0 {
		return nil
	}
	known, err := column[string](ctx, tx, alreadyKnown, listJSON(ids), p.slot, p.backfill, since.UnixMilli())
	if err != nil {
		return err
	}
	if err := p.mark(ctx, tx, known); err != nil {
		return err
	}
	for _, id := range ids {
		if slices.Contains(known, id) || slices.Contains(p.waiting, id) {
			p.known++
		} else {
			p.waiting = append(p.waiting, id)
		}
	}
	return nil
}

// vainFor is how long an id of a watch list without a video is not looked up again.
const vainFor = 24 * time.Hour

// notInVain returns the ids without ids that a slot of the same series has looked up in vain since a time.
func notInVain(ctx context.Context, tx *txn, slot int64, ids []string, since time.Time) ([]string, error) {
	vain, err := column[string](ctx, tx, `
		SELECT video_id FROM json_each(?1) AS given CROSS JOIN vanished ON video_id = given.value
		WHERE noted_at > ?3 AND slot IN (SELECT id FROM slots WHERE series = (SELECT series FROM slots WHERE id = ?2))`,
		listJSON(ids), slot, since.UnixMilli())
	return slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return slices.Contains(vain, id) }), err
}

// takeOver moves the ids that wait in the job's other slots to this one. A slot that a run works on keeps its own.
func (p *piece) takeOver(ctx context.Context, tx *txn, job string) error {
	var slots []int64
	err := each(ctx, tx, func(rows *sql.Rows) error {
		var slot int64
		var ids []string
		err := rows.Scan(&slot, asJSON{&ids})
		slots = append(slots, slot)
		for _, id := range ids {
			if !slices.Contains(p.waiting, id) {
				p.waiting = append(p.waiting, id)
			}
		}
		return err
	}, `
		SELECT slots.id, waiting FROM pieces JOIN slots ON slots.id = slot JOIN series ON series.id = slots.series
		WHERE pieces.backfill IS NULL AND waiting <> '[]' AND job = ? AND state <> 'claimed' ORDER BY due_at, slots.id`, job)
	if err != nil || len(slots) == 0 {
		return err
	}
	return execJSON(ctx,
		tx, `UPDATE pieces SET waiting = '[]' WHERE slot IN (SELECT CAST(value AS bigint) FROM json_each(?1))`, slots)
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

// SaveFound implements fetch.Sink. Unrequested videos are skipped. A refresh is no sighting.
func (s *Store) SaveFound(ctx context.Context, slot ingest.Slot, asked ingest.Asked,
	page ingest.Page) (_ ingest.Slot, a ingest.Absences, _ error) {
	slot, page = s.stamp(slot), plainPage(page)
	slot, err := s.onPiece(ctx, "save the looked-up videos", &slot, func(tx *txn, p *piece) error {
		found, absent, absences, err := putRequested(ctx, tx, slot.FetchedAt, asked, page.Videos,
			p.kind != ingest.BackfillRefresh)
		if a = absences; err != nil {
			return err
		}
		if err := p.mark(ctx, tx, asked.IDs); err != nil {
			return err
		}
		if err := s.addUploadEvents(ctx, tx, slot, page.Videos); err != nil {
			return err
		}
		slot.Videos += found
		if a.Suspect && asked.Keep {
			p.dequeue(slices.DeleteFunc(slices.Clone(asked.IDs), func(id string) bool { return slices.Contains(absent, id) })...)
			return nil
		}
		p.dequeue(asked.IDs...)
		if a.Suspect && !p.backfill.Valid && slot.Kind != ingest.KindVideos { // the next search finds them again
			return nil
		}
		return p.recordVanished(ctx, tx, absent, "", slot.FetchedAt)
	})
	return slot, a, err
}

// addUploadEvents writes the events of the new videos of watched channels.
func (s *Store) addUploadEvents(ctx context.Context, tx *txn, slot ingest.Slot, videos []ingest.Video) error {
	if slot.Kind != ingest.KindUploads {
		return nil
	}
	for _, v := range videos {
		err := s.addEvent(ctx, tx, ingest.UploadNew,
			ingest.Upload{Job: slot.Job, ChannelID: v.ChannelID, Channel: v.Channel, VideoID: v.ID,
				Title: v.Title, PublishedAt: v.PublishedAt.UTC()})
		if err != nil {
			return err
		}
	}
	return nil
}
