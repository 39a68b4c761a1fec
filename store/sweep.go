package store

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"time"

	"github.com/trendvidstream/ingest"
)

// A transaction of Sweep deletes at most so much, so that other writers wait for milliseconds.
const (
	sweepSlots  = 10 // whose placements go
	sweepVideos = 200
	sweepRows   = 1000 // of slots
)

// VideosToRefresh implements fetch.Library.
func (s *Store) VideosToRefresh(ctx context.Context, now time.Time, n int) ([]string, error) {
	return listColumn[string](ctx, s.database, "find the videos to refresh", `SELECT video_id FROM videos WHERE fetched_day <= ? AND fetched_at < ? AND seen_at >= ? ORDER BY fetched_day, id LIMIT ?`,
		dayOf(now.Add(-ingest.RefreshAfter)), now.Add(-ingest.RefreshAfter).UnixMilli(), now.Add(-ingest.KeepFor).UnixMilli(), n)
}

// SaveVideos implements fetch.Sink. slot.Videos counts the videos that came back, from 0 on page 1. A
// video that nobody asked for, or that a sweep has deleted meanwhile, is left out.
func (s *Store) SaveVideos(ctx context.Context, slot ingest.Slot, asked []string, page ingest.Page) (ingest.Slot, error) {
	slot = s.stamp(slot)
	if slot.Pages == 1 {
		slot.Videos = 0
	}
	err := s.tx(ctx, "save refreshed videos", func(tx *txn) error {
		id, _, err := fence(ctx, tx, slot)
		if err != nil {
			return err
		}
		videos, err := newVideoWriter(ctx, tx, slot.FetchedAt, page.Videos)
		if err != nil {
			return err
		}
		gone := slices.Clone(asked)
		for _, v := range page.Videos {
			at := slices.Index(gone, v.ID)
			if at < 0 {
				continue
			}
			if _, err := videos.put(ctx, v, false); err != nil {
				return err
			}
			gone = slices.Delete(gone, at, at+1)
			slot.Videos++
		}
		if err := videos.flush(ctx); err != nil {
			return err
		}
		for _, videoID := range gone {
			if err := forget(ctx, tx, videoID); err != nil {
				return err
			}
		}
		return s.writeProgress(ctx, tx, id, slot)
	})
	return slot, err
}

// forget deletes the video that the upstream no longer has, if the store has it.
func forget(ctx context.Context, tx *txn, videoID string) error {
	var id int64
	err := tx.QueryRowContext(ctx, `SELECT id FROM videos WHERE video_id = ?`, videoID).Scan(&id)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = drop(ctx, tx, id)
	return err
}

// Sweep implements fetch.Sink. A placement and a slot are as old as the slot's due time, a video as
// its last fetch. The newest slot of every series stays, and so does what is yet to be
// claimed: the schedule continues from them. Tidy follows.
func (s *Store) Sweep(ctx context.Context, now time.Time) (placements, videos int, err error) {
	cutoff := now.Add(-ingest.KeepFor)
	for _, sweep := range []func(context.Context, *txn, time.Time) (swept, error){sweepCharts, sweepLibrary, sweepEnded, sweepFound, sweepPieces, sweepBackfills} {
		err := s.steps(ctx, "delete what is too old", func(tx *txn) (bool, error) {
			n, err := sweep(ctx, tx, cutoff)
			placements, videos = placements+n.placements, videos+n.videos
			return n != swept{}, err
		})
		if err != nil {
			return placements, videos, err
		}
	}
	if err := s.sweepChannels(ctx); err != nil {
		return placements, videos, err
	}
	return placements, videos, s.Tidy(ctx)
}

// swept is how much one transaction has deleted.
type swept struct{ placements, videos, slots int }

// sweepCharts deletes the placements of a few old slots.
func sweepCharts(ctx context.Context, tx *txn, cutoff time.Time) (swept, error) {
	n, err := affected(tx.ExecContext(ctx, `
		DELETE FROM placements WHERE slot IN (
			SELECT id FROM slots
			WHERE due_at < ? AND kind <> 'backfill' AND EXISTS (SELECT 1 FROM placements WHERE slot = slots.id)
			ORDER BY due_at LIMIT ?
		)`, ceilUnix(cutoff), sweepSlots))
	return swept{placements: n}, err
}

// sweepLibrary deletes a few old videos, with what placements they still have.
func sweepLibrary(ctx context.Context, tx *txn, cutoff time.Time) (swept, error) {
	ids, err := column[int64](ctx, tx, `SELECT id FROM videos WHERE fetched_day <= ? AND fetched_at < ? LIMIT ?`, dayOf(cutoff), cutoff.UnixMilli(), sweepVideos)
	placements := 0
	for _, id := range ids {
		n, err := drop(ctx, tx, id)
		if err != nil {
			return swept{}, err
		}
		placements += n
	}
	return swept{placements: placements, videos: len(ids)}, err
}

// sweepEnded deletes a few old slots whose placements have gone.
func sweepEnded(ctx context.Context, tx *txn, cutoff time.Time) (swept, error) {
	n, err := affected(tx.ExecContext(ctx, `
		DELETE FROM slots WHERE id IN (
			SELECT slots.id FROM slots JOIN series ON series.id = series
			WHERE due_at < ? AND kind <> 'backfill' AND due_at <> newest AND due_at IS NOT open AND state NOT IN ('due', 'claimed')
			ORDER BY due_at LIMIT ?
		)`, ceilUnix(cutoff), sweepRows))
	return swept{slots: n}, err
}

// sweepChannels deletes channels whose videos have all gone.
func (s *Store) sweepChannels(ctx context.Context) error {
	var found bool
	const empty = ` FROM channels WHERE NOT EXISTS (SELECT 1 FROM video_facts WHERE channel = channels.id)`
	err := s.read.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1`+empty+`)`).Scan(&found)
	if err != nil || !found {
		return s.explain(ctx, "look for empty channels", err)
	}
	return s.tx(ctx, "delete empty channels", func(tx *txn) error {
		_, err := tx.ExecContext(ctx, `DELETE`+empty)
		return err
	})
}

// sweepFound forgets ids that the upstream gave too long ago: those that could not be looked up, and those
// that still wait, whose piece begins again.
func sweepFound(ctx context.Context, tx *txn, cutoff time.Time) (swept, error) {
	n, err := affected(tx.ExecContext(ctx, `
		DELETE FROM vanished WHERE (video_id, slot) IN (SELECT video_id, slot FROM vanished WHERE noted_at < ? LIMIT ?)`,
		cutoff.UnixMilli(), sweepRows))
	if err != nil || n > 0 {
		return swept{slots: n}, err
	}
	old, err := column[int64](ctx, tx, `
		SELECT slot FROM backfills JOIN pieces ON backfill = backfills.id AND waiting <> '[]' JOIN slots ON slots.id = slot
		WHERE backfills.kind IN ('search', 'uploads') AND fetched_at < ? AND state <> 'claimed' LIMIT ?`, cutoff.UnixMilli(), sweepRows)
	if err != nil {
		return swept{}, err
	}
	if err := execJSON(ctx, tx, `UPDATE pieces SET waiting = '[]' WHERE slot IN (SELECT value FROM json_each(?1))`, old); err != nil {
		return swept{}, err
	}
	return swept{slots: len(old)}, execJSON(ctx, tx, `
		UPDATE slots SET token = '', token_at = NULL, pages = 0 WHERE id IN (SELECT value FROM json_each(?1))`, old)
}

// endedBackfills are those, ?1 being the cutoff, in which nothing is open and nothing was done since.
const endedBackfills = `
SELECT id FROM backfills
WHERE created_at < ?1 AND (cancelled_at < ?1 OR NOT ` + hasOpenPieces + `)
  AND NOT EXISTS (SELECT 1 FROM series JOIN slots ON slots.series = series.id WHERE backfill = backfills.id AND fetched_at >= ?1)`

// sweepPieces deletes a few pieces of backfills that have ended long ago.
func sweepPieces(ctx context.Context, tx *txn, cutoff time.Time) (swept, error) {
	series, err := column[int64](ctx, tx, `SELECT id FROM series WHERE backfill IN (`+endedBackfills+`) LIMIT ?2`, cutoff.UnixMilli(), sweepRows)
	if err != nil {
		return swept{}, err
	}
	for _, q := range []string{
		`DELETE FROM slots WHERE series IN (SELECT value FROM json_each(?1))`,
		`DELETE FROM series WHERE id IN (SELECT value FROM json_each(?1))`,
	} {
		if err := execJSON(ctx, tx, q, series); err != nil {
			return swept{}, err
		}
	}
	return swept{slots: len(series)}, nil
}

// sweepBackfills deletes backfills whose pieces have gone.
func sweepBackfills(ctx context.Context, tx *txn, cutoff time.Time) (swept, error) {
	n, err := affected(tx.ExecContext(ctx, `
		DELETE FROM backfills WHERE created_at < ? AND NOT EXISTS (SELECT 1 FROM series WHERE backfill = backfills.id)`, cutoff.UnixMilli()))
	return swept{slots: n}, err
}
