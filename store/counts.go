package store

import (
	"context"
	"slices"
	"time"

	"github.com/trendvidstream/ingest"
)

// uncounted walks videos_fetched, and on over what was counted since: an index of its own would have every
// re-sighting of a video cost a tenth more.
const uncounted = `
SELECT video_id FROM videos WHERE fetched_day <= ?2 AND fetched_at < ?1 AND coalesce(counted_at, 0) < ?1
ORDER BY fetched_day, id LIMIT ?3`

// VideosToCount implements fetch.Library.
func (s *Store) VideosToCount(ctx context.Context, before time.Time, n int) ([]string, error) {
	return listColumn[string](ctx, s.database, "find the videos to count", uncounted, before.UnixMilli(), dayOf(before), n)
}

// SaveCounts implements fetch.Sink. slot.Videos goes up by the videos that were counted. What the
// upstream withholds becomes unknown. That a video did not come back says little: whether it is gone is
// found when it is fetched again.
func (s *Store) SaveCounts(ctx context.Context, slot ingest.Slot, asked []string, counts []ingest.Counts) (ingest.Slot, error) {
	slot = s.stamp(slot)
	err := s.tx(ctx, "save counts", func(tx *txn) error {
		id, _, err := fence(ctx, tx, slot)
		if err != nil {
			return err
		}
		for _, c := range counts {
			if !slices.Contains(asked, c.ID) {
				continue
			}
			n, err := affected(tx.ExecContext(ctx, `UPDATE video_latest SET views = ?, likes = ?, comments = ? WHERE id = (SELECT id FROM video_facts WHERE video_id = ?)`,
				c.Views, c.Likes, c.Comments, c.ID))
			if err != nil {
				return err
			}
			slot.Videos += n
		}
		for _, videoID := range asked { // one by one: JSON cannot hold an id that is not valid text
			if _, err := tx.ExecContext(ctx, `UPDATE video_latest SET counted_at = ? WHERE id = (SELECT id FROM video_facts WHERE video_id = ?)`,
				slot.FetchedAt.UnixMilli(), videoID); err != nil {
				return err
			}
		}
		return s.writeProgress(ctx, tx, id, slot)
	})
	return slot, err
}
