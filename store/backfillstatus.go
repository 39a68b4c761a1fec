package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/trendvidstream/ingest"
)

// BackfillStatus is a backfill with its progress, summed over its pieces.
type BackfillStatus struct {
	ingest.Backfill
	Pieces    map[ingest.State]int // number of pieces by state; see count
	Units     int64                // charged so far, counted as in a slot
	DoneUnits int64                // the part of Units charged by done pieces
	Videos    int                  // looked up and stored
	Known     int                  // left out: fetched shortly before, or already found
	Vanished  int                  // looked up, but gone from the upstream
	GivenUp   int                  // ids that could not be looked up
	Waiting   int                  // IDs still to be looked up
	PaidTwice int                  // pages paid for again, because the upstream refused a token
	Lacking   int                  // done pieces that brought less than the upstream has
	Lost      int64                // the part of Units charged by calls that were in flight when a run died
	RetryAt   time.Time            // when quota may be available again, by the latest refusal; zero: none
	LastAt    time.Time            // when a page was last saved; zero: never

	// LeasedUntil is when the last claimed piece becomes due again if its run has died; zero: none is claimed. A live
	// run extends it with each page.
	LeasedUntil time.Time

	row int64
}

// Open returns the number of pieces that are claimed or may yet be.
func (b BackfillStatus) Open() int {
	return b.Pieces[ingest.Due] + b.Pieces[ingest.Claimed] + b.Pieces[ingest.Stopped]
}

const (
	selectBackfills = `SELECT id, name, kind, spec, cost_table, wait, created_at, cancelled_at, confirmed, charged
		FROM backfills`

	// hasOpenPieces is a condition on a row of backfills.
	hasOpenPieces = `EXISTS (SELECT 1 FROM series WHERE backfill = backfills.id AND open IS NOT NULL)`
)

// Backfills lists all backfills, newest first.
func (s *Store) Backfills(ctx context.Context) ([]BackfillStatus, error) {
	var list []BackfillStatus
	err := s.view(ctx, "list the backfills", func(tx *txn) (err error) {
		list, err = collect(ctx, tx, scanBackfill, selectBackfills+` WHERE ready ORDER BY id DESC`)
		if err != nil || len(list) == 0 {
			return err
		}
		return countPieces(ctx, tx, list, s.now())
	})
	return list, err
}

// FindBackfill finds a backfill by its ID, or else the newest one with that identity that was not cancelled.
// ErrNoBackfill if there is none.
func (s *Store) FindBackfill(ctx context.Context, idOrIdentity string) (b BackfillStatus, err error) {
	err = s.view(ctx, "find a backfill", func(tx *txn) error {
		found, err := findBackfill(ctx, tx, idOrIdentity)
		if err != nil {
			return err
		}
		one := []BackfillStatus{found}
		err = countPieces(ctx, tx, one, s.now())
		b = one[0]
		return err
	})
	return b, err
}

// WaitingBackfills returns the backfills with open pieces that ingest serve may continue, oldest first, except
// backfills that have spent the agreed amount.
func (s *Store) WaitingBackfills(ctx context.Context) ([]ingest.Backfill, error) {
	plans, err := collectView(ctx, s.database, "look for backfills to carry on", scanBackfill,
		selectBackfills+` WHERE wait AND ready AND cancelled_at IS NULL AND `+hasOpenPieces+` ORDER BY id`)
	var waiting []ingest.Backfill
	for _, b := range plans {
		if !b.Exhausted() {
			waiting = append(waiting, b.Backfill)
		}
	}
	return waiting, err
}

// Lacks returns up to n done pieces of a backfill that brought less than the upstream has; n 0: all.
func (s *Store) Lacks(ctx context.Context, id string, n int) ([]ingest.Lack, error) {
	return collectView(ctx, s.database, "list the missing pieces of "+id, func(row scanner) (l ingest.Lack, err error) {
		var listing ingest.Listing
		err = row.Scan(&l.Piece, asJSON{&listing})
		l.Stored, l.Expected, l.Reason = listing.Stored, listing.Expected, listing.Lack
		return l, err
	}, `
		SELECT key, listing FROM backfills
		JOIN series ON series.backfill = backfills.id JOIN slots ON slots.series = series.id JOIN pieces ON slot = slots.id
		WHERE name = ? AND state = 'done' AND `+lacks+` ORDER BY place LIMIT ?`, id, cmp.Or(n, math.MaxInt32))
}

// FailedPieces returns up to n failures of a backfill, by piece; n 0: all.
func (s *Store) FailedPieces(ctx context.Context, id string, n int) ([]ingest.PieceFailure, error) {
	return collectView(ctx, s.database, "list failed pieces of "+id, func(row scanner) (f ingest.PieceFailure, err error) {
		err = row.Scan(&f.Piece, &f.ID, &f.Reason)
		return f, err
	}, `
		WITH mine AS (
			SELECT slots.id, place, key, state, reason FROM backfills
			JOIN series ON backfill = backfills.id JOIN slots ON slots.series = series.id WHERE name = ?1
		)
		SELECT key, video_id, reason FROM (
			SELECT place, key, '' AS video_id, reason FROM mine WHERE state = 'failed'
			UNION ALL
			SELECT place, key, video_id, vanished.reason FROM mine JOIN vanished ON slot = mine.id WHERE vanished.reason <> ''
		) AS failures
		ORDER BY place, video_id LIMIT ?2`, id, cmp.Or(n, math.MaxInt32))
}

// findBackfill finds a plan by name or identity, without counting its pieces.
func findBackfill(ctx context.Context, tx *txn, idOrIdentity string) (BackfillStatus, error) {
	b, err := scanBackfill(tx.QueryRowContext(ctx, selectBackfills+`
		WHERE ready AND (name = ?1 OR identity = ?1 AND cancelled_at IS NULL) ORDER BY name = ?1 DESC, id DESC LIMIT 1`,
		idOrIdentity))
	if errors.Is(err, sql.ErrNoRows) {
		err = fmt.Errorf("%w: %s", ErrNoBackfill, idOrIdentity)
	}
	return b, err
}

func scanBackfill(row scanner) (b BackfillStatus, err error) {
	err = row.Scan(&b.row, &b.ID, &b.Kind, asJSON{&b.Spec}, &b.Table, &b.Wait, inMillis(&b.Created),
		inMillis(&b.Cancelled), asJSON{&b.Confirmed}, asJSON{&b.Charges})
	return b, err
}

// countPieces sums up the pieces of each backfill as the next claim would find them: a piece with an expired lease is
// due. Open pieces of a cancelled backfill count as skipped unless a run works on them.
func countPieces(ctx context.Context, tx *txn, list []BackfillStatus, now time.Time) error {
	rows, of := make([]int64, len(list)), map[int64]*BackfillStatus{}
	for i := range list {
		list[i].Pieces = map[ingest.State]int{}
		rows[i], of[list[i].row] = list[i].row, &list[i]
	}
	err := each(ctx, tx, func(rows *sql.Rows) error {
		var row int64
		var state ingest.State
		var pieces, videos, known, again, waiting, lacking int
		var units, lost int64
		var retry, last, lease time.Time
		if err := rows.Scan(&row, &state, &pieces, &units, &videos, &known, &again, &waiting, &lacking,
			&lost, inMillis(&retry), inMillis(&last), inMillis(&lease)); err != nil {
			return err
		}
		b := of[row]
		b.Pieces[state] = pieces
		b.Units, b.Videos, b.Known, b.PaidTwice, b.Waiting = b.Units+units, b.Videos+videos, b.Known+known,
			b.PaidTwice+again, b.Waiting+waiting
		b.Lost += lost
		if last.After(b.LastAt) {
			b.LastAt = last
		}
		switch state {
		default: // the other states set nothing
		case ingest.Done:
			b.DoneUnits, b.Lacking = units, lacking
		case ingest.Stopped:
			b.RetryAt = retry
		case ingest.Claimed:
			b.LeasedUntil = lease
		}
		return nil
	}, `
		SELECT backfills.id, CASE
			WHEN state = 'claimed' AND lease > ?2 THEN state
			WHEN cancelled_at IS NOT NULL AND state IN ('due', 'claimed', 'stopped') THEN 'skipped'
			WHEN state = 'claimed' THEN 'due'
			ELSE state
		END AS is_now, count(*), sum(units), sum(videos), coalesce(sum(known), 0), coalesce(sum(again), 0),
			coalesce(sum(json_array_length(waiting)), 0), count(*) FILTER (WHERE `+lacks+`),
			coalesce(sum(lost + CASE WHEN state = 'claimed' AND lease > ?2 THEN 0 ELSE unsaved END), 0), max(retry_at),
			max(fetched_at), max(lease)
		FROM backfills JOIN series ON series.backfill = backfills.id JOIN slots ON slots.series = series.id
		LEFT JOIN pieces ON slot = slots.id
		WHERE backfills.id IN (SELECT CAST(value AS bigint) FROM json_each(?1)) GROUP BY backfills.id, is_now`,
		listJSON(rows), now.UnixMilli())
	if err != nil {
		return err
	}
	return countVanished(ctx, tx, rows, of)
}

func countVanished(ctx context.Context, tx *txn, backfills []int64, of map[int64]*BackfillStatus) error {
	return each(ctx, tx, func(rows *sql.Rows) error {
		var row int64
		var vanished, givenUp int
		err := rows.Scan(&row, &vanished, &givenUp)
		if err == nil {
			of[row].Vanished, of[row].GivenUp = vanished, givenUp
		}
		return err
	}, `
		SELECT backfill, count(*) FILTER (WHERE reason = ''), count(*) FILTER (WHERE reason <> '')
		FROM pieces JOIN vanished USING (slot)
		WHERE backfill IN (SELECT CAST(value AS bigint) FROM json_each(?1)) GROUP BY backfill`, listJSON(backfills))
}
