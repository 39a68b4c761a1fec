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
)

// Stale implements fetch.Library.
func (s *Store) Stale(ctx context.Context, now time.Time, n int) ([]string, error) {
	var ids []string
	err := s.view(ctx, "find the videos to refresh", func(tx *sql.Tx) error {
		return each(ctx, tx, func(rows *sql.Rows) error {
			var id string
			err := rows.Scan(&id)
			ids = append(ids, id)
			return err
		}, `SELECT video_id FROM videos WHERE fetched_at < ? AND seen_at >= ? ORDER BY fetched_at, id LIMIT ?`,
			now.Add(-ingest.RefreshAfter).UnixMilli(), now.Add(-ingest.KeepFor).UnixMilli(), n)
	})
	return ids, err
}

// SaveVideos implements fetch.Library. slot.Videos counts the videos that came back, from 0 on page 1. A
// video that nobody asked for, or that a sweep has deleted meanwhile, is left out.
func (s *Store) SaveVideos(ctx context.Context, slot ingest.Slot, asked []string, page ingest.Page) (ingest.Slot, error) {
	slot = s.stamp(slot)
	if slot.Pages == 1 {
		slot.Videos = 0
	}
	err := s.tx(ctx, "save refreshed videos", func(tx *sql.Tx) error {
		id, _, err := fence(ctx, tx, slot)
		if err != nil {
			return err
		}
		shelf, err := newShelf(ctx, tx, slot.FetchedAt)
		if err != nil {
			return err
		}
		gone := slices.Clone(asked)
		for _, v := range page.Videos {
			at := slices.Index(gone, v.ID)
			if at < 0 {
				continue
			}
			if _, err := shelf.put(ctx, v, false); err != nil {
				return err
			}
			gone = slices.Delete(gone, at, at+1)
			slot.Videos++
		}
		for _, videoID := range gone {
			if err := forget(ctx, tx, videoID); err != nil {
				return err
			}
		}
		return writeProgress(ctx, tx, id, slot)
	})
	return slot, err
}

// forget deletes the video that the upstream no longer has, if the store has it.
func forget(ctx context.Context, tx *sql.Tx, videoID string) error {
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

// Sweep implements fetch.Library. A placement is as old as its slot's due time, a video as its last
// fetch. The rows of the slots stay: they hold nothing of the upstream's but a count.
func (s *Store) Sweep(ctx context.Context, now time.Time) (placements, videos int, err error) {
	cutoff := now.Add(-ingest.KeepFor)
	for _, sweep := range []func(context.Context, *sql.Tx, time.Time) (int, int, error){sweepCharts, sweepLibrary} {
		for {
			var p, v int
			err := s.tx(ctx, "delete what is too old", func(tx *sql.Tx) error {
				var err error
				p, v, err = sweep(ctx, tx, cutoff)
				return err
			})
			if err != nil {
				return placements, videos, err
			}
			if p+v == 0 {
				break
			}
			placements, videos = placements+p, videos+v
		}
	}
	return placements, videos, s.sweepChannels(ctx)
}

// sweepCharts deletes the placements of a few old slots.
func sweepCharts(ctx context.Context, tx *sql.Tx, cutoff time.Time) (placements, videos int, err error) {
	res, err := tx.ExecContext(ctx, `
		DELETE FROM placements WHERE slot IN (
			SELECT id FROM slots
			WHERE due_at < ? AND EXISTS (SELECT 1 FROM placements WHERE slot = slots.id)
			ORDER BY due_at LIMIT ?
		)`, ceilUnix(cutoff), sweepSlots)
	if err != nil {
		return 0, 0, err
	}
	n, err := res.RowsAffected()
	return int(n), 0, err
}

// sweepLibrary deletes a few old videos, with what placements they still have.
func sweepLibrary(ctx context.Context, tx *sql.Tx, cutoff time.Time) (placements, videos int, err error) {
	var ids []int64
	err = each(ctx, tx, func(rows *sql.Rows) error {
		var id int64
		err := rows.Scan(&id)
		ids = append(ids, id)
		return err
	}, `SELECT id FROM videos WHERE fetched_at < ? ORDER BY fetched_at LIMIT ?`, cutoff.UnixMilli(), sweepVideos)
	for _, id := range ids {
		n, err := drop(ctx, tx, id)
		if err != nil {
			return 0, 0, err
		}
		placements += n
	}
	return placements, len(ids), err
}

// sweepChannels deletes channels whose videos have all gone.
func (s *Store) sweepChannels(ctx context.Context) error {
	var found bool
	const empty = ` FROM channels WHERE NOT EXISTS (SELECT 1 FROM videos WHERE channel = channels.id)`
	err := s.read.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1`+empty+`)`).Scan(&found)
	if err != nil || !found {
		return s.explain(ctx, "look for empty channels", err)
	}
	return s.tx(ctx, "delete empty channels", func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `DELETE`+empty)
		return err
	})
}
