package store

import (
	"context"
	"time"

	"github.com/trendvidstream/ingest"
)

// SavePage implements fetch.Sink. The page counts as fetched at slot.FetchedAt, or now where that is
// zero. A video without an id is left out: nothing could ever find it again.
func (s *Store) SavePage(ctx context.Context, slot ingest.Slot, page ingest.Page) (ingest.Slot, error) {
	slot = s.stamp(slot)
	err := s.tx(ctx, "save a page", func(tx *txn) error {
		id, series, err := fence(ctx, tx, slot)
		if err != nil {
			return err
		}
		if slot.Pages == 1 {
			if _, err := tx.ExecContext(ctx, `DELETE FROM placements WHERE slot = ?`, id); err != nil {
				return err
			}
		}
		slot.Videos, err = place(ctx, tx, id, series, page, slot.FetchedAt)
		if err != nil {
			return err
		}
		return s.writeProgress(ctx, tx, id, slot)
	})
	return slot, err
}

// place writes the page's videos and their ranks, and returns how many videos the slot has now.
func place(ctx context.Context, tx *txn, slot, series int64, page ingest.Page, at time.Time) (int, error) {
	var count, rank int
	if err := tx.QueryRowContext(ctx, `SELECT count(*), coalesce(max(rank), 0) FROM placements WHERE slot = ?`, slot).
		Scan(&count, &rank); err != nil {
		return 0, err
	}
	shelf, err := newShelf(ctx, tx, at, page.Videos)
	if err != nil {
		return 0, err
	}
	for _, v := range page.Videos {
		if v.ID == "" {
			continue
		}
		video, err := shelf.put(ctx, v, true)
		if err != nil {
			return 0, err
		}
		res, err := tx.ExecContext(ctx, `
			INSERT INTO placements (slot, rank, video, series, views, likes, comments) VALUES (?, ?, ?, ?, ?, ?, ?)
			ON CONFLICT (video, series, slot) DO NOTHING`, slot, rank+1, video, series, v.Views, v.Likes, v.Comments)
		if err != nil {
			return 0, err
		}
		if n, err := res.RowsAffected(); err != nil {
			return 0, err
		} else if n > 0 {
			rank++
			count++
		}
	}
	return count, shelf.flush(ctx)
}

// stamp makes the slot's times what the store keeps of them.
func (s *Store) stamp(slot ingest.Slot) ingest.Slot {
	if slot.FetchedAt.IsZero() {
		slot.FetchedAt = s.now()
	}
	for _, t := range []*time.Time{&slot.FetchedAt, &slot.TokenAt, &slot.RetryAt, &slot.Lease} {
		*t = fromMillis(millis(*t))
	}
	return slot
}
