package store

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/trendvidstream/ingest"
)

// claimable lists the slots that may be claimed at ?2 (milliseconds; ?1 is its future), in the order of Claim: each
// series' open slot, unless a run works on the series or the slot waits. A stopped slot must be the newest.
// claimableOf lists the claimable slots of the series in ?3, however many others wait.
const (
	claimable = `
SELECT slots.id, job, series.key, due_at
FROM series INDEXED BY series_open` + claimableIn

	claimableOf = `
SELECT slots.id, job, series.key, due_at
FROM json_each(?3) AS given CROSS JOIN series ON job = value ->> 0 AND series.key = value ->> 1` + claimableIn

	claimableIn = ` CROSS JOIN slots ON slots.series = series.id AND due_at = open
WHERE open IS NOT NULL AND backfill IS NULL AND (state <> 'stopped' OR due_at = ` + newestAt + `)
  AND (state <> 'due' OR retry_at IS NULL OR retry_at <= ?2 OR retry_at > ?2 + ` + longestWait + `)
  AND NOT EXISTS (SELECT 1 FROM slots AS other WHERE other.series = series.id AND other.state = 'claimed'
      AND other.lease > ?2 AND other.due_at <= ?1)
ORDER BY fresh_at NULLS FIRST, open, job, series.key`
)

// longestWait is how long a slot of the schedule may wait before it is tried again, in milliseconds: a longer wait
// was written while a clock was ahead.
const longestWait = `3600000`

// fewSeries is up to how many series a claim looks up one by one.
const fewSeries = 16

// claimablePieces lists the pieces of backfill ?1 that may be claimed at ?2, in order or, with DESC appended,
// reversed. All are due when the backfill was created. patient leaves out waiting slots.
const claimablePieces = `
SELECT slots.id, job, key, due_at
FROM series INDEXED BY series_backfill
CROSS JOIN slots ON slots.series = series.id AND due_at = open
WHERE backfill = (SELECT id FROM backfills WHERE name = ?1 AND cancelled_at IS NULL AND ready)
  AND open = (SELECT created_at / 1000 FROM backfills WHERE name = ?1) AND (state <> 'claimed' OR lease <= ?2)`

const patient = ` AND (state <> 'due' OR retry_at IS NULL OR retry_at <= ?2)`

// Claim implements fetch.Slots. It first looks for a slot of the schedule without locking, as most claims find none.
func (s *Store) Claim(ctx context.Context, c ingest.Claim) (slot ingest.Slot, ok bool, err error) {
	if c.Backfill == "" {
		err = s.view(ctx, "look for a slot to claim", func(tx *txn) error {
			_, ok, err = findClaimable(ctx, tx, c)
			return err
		})
		if err != nil || !ok {
			return slot, false, err
		}
	}
	err = s.tx(ctx, "claim a slot", func(tx *txn) error {
		if c.Backfill == "" { // a piece is the only slot of its series
			if err := supersedeClaims(ctx, tx, c.Now); err != nil {
				return err
			}
		}
		id, found, err := findClaimable(ctx, tx, c)
		if ok = found; err != nil || !found { // another run was faster
			return err
		}
		if _, err := tx.ExecContext(ctx, `
			UPDATE slots
			SET state = 'claimed', owner = ?2, attempt = attempt + 1, tries = tries + 1, lease = ?3, reason = '', retry_at = NULL
			WHERE id = ?1`, id, c.Owner, c.Now.Add(c.Lease).UnixMilli()); err != nil {
			return err
		}
		if c.Backfill != "" { // calls of a run that died
			if _, err := tx.ExecContext(ctx,
				`UPDATE pieces SET lost = lost + unsaved, unsaved = 0 WHERE slot = ? AND unsaved > 0`, id); err != nil {
				return err
			}
		}
		slot, err = scanSlot(tx.QueryRowContext(ctx, selectSlots+` WHERE slots.id = ?`, id))
		return err
	})
	return slot, ok && err == nil, err
}

// Claimable implements fetch.Slots.
func (s *Store) Claimable(ctx context.Context, now time.Time) ([]ingest.SlotKey, error) {
	return collectView(ctx, s.database, "look for slots to claim", func(row scanner) (k ingest.SlotKey, err error) {
		var id int64
		err = row.Scan(&id, &k.Job, &k.Key, inSeconds(&k.DueAt))
		return k, err
	}, claimable, future(now), now.UnixMilli())
}

// findClaimable returns the first claimable slot that the claim admits.
func findClaimable(ctx context.Context, tx *txn, c ingest.Claim) (id int64, ok bool, err error) {
	find := func(query string, args ...any) (n int, err error) {
		err = each(ctx, tx, func(rows *sql.Rows) error {
			var row int64
			var k ingest.SlotKey
			err := rows.Scan(&row, &k.Job, &k.Key, inSeconds(&k.DueAt))
			if n++; id == 0 && (c.Series == nil || c.Series[k.Series()]) && !c.Except[k] {
				id = row
			}
			return err
		}, query, args...)
		return n, err
	}
	query, args := claimable, []any{future(c.Now), c.Now.UnixMilli()}
	switch {
	case c.Backfill != "":
		query, args[0] = claimablePieces, c.Backfill
		if c.Patient {
			query += patient
		}
		if query += ` ORDER BY place`; c.Reversed {
			query += ` DESC`
		}
	case c.Series != nil && len(c.Series) <= fewSeries:
		var given [][2]string
		for s := range c.Series {
			given = append(given, [2]string{s.Job, s.Key})
		}
		_, err = find(claimableOf, append(args, listJSON(given))...)
		return id, id != 0, err
	}
	for limit := 8; ; limit *= 16 { // otherwise Postgres computes and sends the whole result
		n, err := find(query+` LIMIT ?3`, append(args, limit)...)
		if err != nil || id != 0 || n < limit {
			return id, id != 0, err
		}
	}
}

// Finish implements fetch.Slots. It keeps the time of the last page as saved. A slot that is given back after its
// series has moved on is superseded at once.
func (s *Store) Finish(ctx context.Context, slot ingest.Slot) error {
	slot.FetchedAt = time.Time{}
	return s.withFence(ctx, "finish a slot", &slot, func(tx *txn, id, _ int64) error {
		return endPiece(ctx, tx, id, &slot)
	})
}

// withFence runs f with the ids of the slot and its series if the owner still holds the slot, and then writes the
// slot's progress, in one transaction. f may change the slot.
func (s *Store) withFence(ctx context.Context, doing string, slot *ingest.Slot,
	f func(tx *txn, id, series int64) error) error {
	return s.tx(ctx, doing, func(tx *txn) error {
		id, series, err := fence(ctx, tx, *slot)
		if err != nil {
			return err
		}
		if err := f(tx, id, series); err != nil {
			return err
		}
		if err := countCharges(ctx, tx, id, *slot); err != nil {
			return err
		}
		if err := s.writeProgress(ctx, tx, id, *slot); err != nil {
			return err
		}
		return s.addPieceEvent(ctx, tx, series, *slot)
	})
}

// fence finds the slot and its series; ErrFenced if the owner no longer holds it.
func fence(ctx context.Context, tx *txn, slot ingest.Slot) (id, series int64, err error) {
	err = tx.QueryRowContext(ctx, `
		SELECT slots.id, series.id FROM series JOIN slots ON slots.series = series.id
		WHERE job = ? AND key = ? AND due_at = ? AND state = 'claimed' AND owner = ? AND attempt = ?`,
		slot.Job, slot.Key, slot.DueAt.Unix(), slot.Owner, slot.Attempt).Scan(&id, &series)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, 0, ingest.ErrFenced
	}
	return id, series, err
}

// writeProgress writes how far a fenced slot has come. A zero FetchedAt keeps the stored one.
func (s *Store) writeProgress(ctx context.Context, tx *txn, id int64, slot ingest.Slot) error {
	lease := slot.Lease
	if slot.State != ingest.Claimed {
		lease = time.Time{}
	}
	if _, err := tx.ExecContext(ctx, `
		UPDATE slots
		SET state = ?, lease = ?, token = ?, token_at = ?, pages = ?, videos = ?, units = ?, charges = ?, emergency = ?,
			reason = ?, retry_at = ?,
		    fetched_at = coalesce(?, fetched_at), tries = ?, usual = ?
		WHERE id = ?`,
		slot.State, millis(lease), slot.Token, millis(slot.TokenAt), slot.Pages, slot.Videos,
		slot.Units, amounts(slot.Charges), amounts(slot.Emergency), Plain(slot.Reason),
		millis(slot.RetryAt), millis(slot.FetchedAt), slot.Tries, slot.Usual, id); err != nil {
		return err
	}
	return s.updateSeries(ctx, tx, id, slot.State)
}

// amounts returns the value of a slot's column for amounts by pool: NULL if there are none.
func amounts(pools map[string]int64) any {
	if len(pools) == 0 {
		return nil
	}
	return asJSON{pools}
}

// updateSeries keeps the series row consistent with a slot that has just changed to state.
func (s *Store) updateSeries(ctx context.Context, tx *txn, id int64, state ingest.State) error {
	var err error
	switch state {
	default: // Claimed and Stopped change nothing; Missed is final from the start
	case ingest.Done:
		_, err = tx.ExecContext(ctx, `
			UPDATE series
			SET open = nullif(open, due_at), fresh_at = max(coalesce(fresh_at, 0), coalesce(fetched_at, ?2))
			FROM slots WHERE slots.id = ?1 AND series.id = series`, id, s.now().UnixMilli())
	case ingest.Failed, ingest.Skipped:
		_, err = tx.ExecContext(ctx, `
			UPDATE series SET open = nullif(open, due_at) FROM slots WHERE slots.id = ?1 AND series.id = series`, id)
	case ingest.Due:
		err = supersede(ctx, tx, `id = ?1`, id, future(s.now()))
	}
	return err
}
