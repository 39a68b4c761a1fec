package store

import (
	"context"
	"errors"
	"maps"
	"time"

	"github.com/trendvidstream/ingest"
)

// errUnconfirmed means that a call would exceed the amount that a person agreed to spend on the backfill.
var errUnconfirmed = errors.New("the call exceeds the agreed amount")

// NoteCharge implements fetch.Sink.
func (s *Store) NoteCharge(ctx context.Context, slot ingest.Slot) (agreed bool, err error) {
	err = s.withFence(ctx, "note a call's cost", &slot, func(tx *txn, id, _ int64) error {
		charged, confirmed, err := chargedWith(ctx, tx, id, slot)
		if err != nil {
			return err
		}
		for pool, most := range confirmed {
			if charged[pool] > most {
				return errUnconfirmed
			}
		}
		_, err = tx.ExecContext(ctx, `UPDATE pieces SET unsaved = ? WHERE slot = ?`, slot.Unsaved, id)
		return err
	})
	if errors.Is(err, errUnconfirmed) {
		return false, nil
	}
	return err == nil, err
}

// chargedWith returns the charges of a piece's backfill, including the piece's charges since it was last written, and
// the agreed amount.
func chargedWith(ctx context.Context, tx *txn, id int64,
	slot ingest.Slot) (charged, confirmed map[string]int64, err error) {
	var before map[string]int64
	err = tx.QueryRowContext(ctx, `
		SELECT charges, charged, confirmed
		FROM slots JOIN series ON series.id = series JOIN backfills ON backfills.id = series.backfill WHERE slots.id = ?`,
		id).
		Scan(asJSON{&before}, asJSON{&charged}, asJSON{&confirmed})
	for pool, n := range before {
		charged[pool] -= n
	}
	for pool, n := range slot.Charges {
		charged[pool] += n
	}
	maps.DeleteFunc(charged, func(_ string, n int64) bool { return n == 0 })
	return charged, confirmed, err
}

// countCharges adds the piece's charges since it was last written to its backfill; refunds are subtracted.
func countCharges(ctx context.Context, tx *txn, id int64, slot ingest.Slot) error {
	if slot.Kind != ingest.KindBackfill {
		return nil
	}
	charged, _, err := chargedWith(ctx, tx, id, slot)
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, `
		UPDATE backfills SET charged = ?2 WHERE charged <> ?2
		AND id = (SELECT backfill FROM slots JOIN series ON series.id = series WHERE slots.id = ?1)`, id, asJSON{charged})
	return err
}

// Accounted implements fetch.Library.
func (s *Store) Accounted(ctx context.Context, slot ingest.SlotKey, channel string,
	since time.Time) (stored, gone int, err error) {
	err = s.read.QueryRowContext(ctx, `
		SELECT (SELECT count(*) FROM channels JOIN video_facts ON channel = channels.id
			JOIN video_latest ON video_latest.id = video_facts.id
			WHERE channel_id = ?1 AND fetched_at >= ?2),
			(SELECT count(*) FROM series JOIN slots ON slots.series = series.id JOIN vanished ON slot = slots.id
			WHERE job = ?3 AND series.key = ?4 AND due_at = ?5)`,
		channel, since.UnixMilli(), slot.Job, slot.Key, slot.DueAt.Unix()).Scan(&stored, &gone)
	return stored, gone, s.explain(ctx, "count the videos of a channel", err)
}
