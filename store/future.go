package store

import (
	"context"
	"strings"
	"time"

	"github.com/trendvidstream/ingest"
)

// RemoveFuture deletes the slots in SlotSummary.Ahead with their placements, and returns their number. Their spends
// are kept: see keepCharges. The videos that were fetched with them count as fetched now, or they would be neither
// refreshed nor deleted for as long as the clock was ahead.
func (s *Store) RemoveFuture(ctx context.Context, now time.Time) (slots int, err error) {
	err = s.tx(ctx, "delete slots in the future", func(tx *txn) error {
		spent, err := selectReports(ctx,
			tx, selectSlots+` WHERE kind <> 'backfill' AND units > 0 AND due_at >= ?`, now.Unix())
		if err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, `
			DELETE FROM placements WHERE slot IN (SELECT id FROM slots WHERE kind <> 'backfill' AND due_at > ?)`,
			future(now)); err != nil {
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
			SET newest = (SELECT max(due_at) FROM slots WHERE series = series.id), open = iif(open <= ?1, open, NULL),
				fresh_at = iif(fresh_at <= ?1 * 1000, fresh_at, (SELECT max(fetched_at) FROM slots WHERE series = series.id
					AND state = 'done'))
			WHERE backfill IS NULL AND (newest > ?1 OR fresh_at > ?1 * 1000)`, future(now))
		if err == nil {
			_, err = tx.ExecContext(ctx, `
				UPDATE video_latest
					SET fetched_at = min(fetched_at, ?2), seen_at = min(seen_at, ?2),
						counted_at = iif(counted_at > ?1 * 1000, ?2, counted_at)
				WHERE max(fetched_at, seen_at, coalesce(counted_at, 0)) > ?1 * 1000`, future(now), now.UnixMilli())
		}
		if err == nil {
			_, err = tx.ExecContext(ctx, `UPDATE video_facts SET fetched_day = ?1 WHERE fetched_day > ?1`, dayOf(now))
		}
		if err != nil {
			return err
		}
		return keepCharges(ctx, tx, spent, now)
	})
	return slots, err
}

// clockAhead is the end of the job's name of a slot that keeps other slots' spends. No job in a config has such a
// name.
const clockAhead = " (clock ahead)"

// keepCharges adds a skipped slot for each series of slots in the future, with all their spends, since those calls
// were made. They were made at an unknown time, but not after now. So the added slot is due now, and no unit comes
// back early. It has a series of its own: in theirs it would count as the newest tick, and hide one that is yet to be
// fetched.
func keepCharges(ctx context.Context, tx *txn, spent []ingest.Slot, now time.Time) error {
	kept := map[ingest.Series]*ingest.Slot{}
	for _, slot := range spent {
		before := strings.HasSuffix(slot.Job, clockAhead) && slot.DueAt.Unix() == now.Unix() // of a repair in this second
		if !before && slot.DueAt.Unix() <= future(now) {
			continue
		}
		key := ingest.Series{Job: strings.TrimSuffix(slot.Job, clockAhead) + clockAhead, Key: slot.Key}
		if kept[key] == nil {
			kept[key] = &ingest.Slot{SlotKey: ingest.SlotKey{Job: key.Job, Key: key.Key, DueAt: now},
				Kind: slot.Kind, State: ingest.Skipped,
				Reason: "the spends of slots that a clock that was ahead put into the future, and doctor --repair removed"}
		}
		units := kept[key].Units + slot.Units
		kept[key].Charge(slot.Charges, false)
		kept[key].Units = units // more than in any one pool, if calls drew on different pools
	}
	var slots []ingest.Slot
	var rows [][5]any
	for _, slot := range kept {
		slots, rows = append(slots, *slot), append(rows, [5]any{slot.Job, slot.Key, now.Unix(), slot.Units, slot.Charges})
	}
	if len(slots) == 0 {
		return nil
	}
	a, err := newAddition(ctx, tx, slots, now)
	if err == nil {
		err = a.write(ctx, tx, now)
	}
	if err != nil {
		return err
	}
	return execJSON(ctx, tx, `
		UPDATE slots SET units = value ->> 3, charges = value -> 4
		FROM json_each(?1) CROSS JOIN series ON job = value ->> 0 AND series.key = value ->> 1
		WHERE series = series.id AND due_at = value ->> 2`, rows)
}
