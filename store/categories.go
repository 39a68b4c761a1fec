package store

import (
	"context"
	"time"

	"github.com/trendvidstream/ingest"
)

// RegionsToName implements fetch.Library.
func (s *Store) RegionsToName(ctx context.Context, charted, stale time.Time) ([]ingest.Region, error) {
	return collectView(ctx, s.database, "find the regions whose categories have no names", scanValue[ingest.Region], `
		SELECT DISTINCT key FROM series
		WHERE backfill IS NULL AND EXISTS (SELECT 1 FROM slots WHERE series = series.id AND kind = 'chart' AND state = 'done' AND fetched_at < ?)
		  AND NOT EXISTS (SELECT 1 FROM named WHERE region = key AND named_at >= ?)
		ORDER BY key`, charted.UnixMilli(), stale.UnixMilli())
}

// SaveNames implements fetch.Sink.
func (s *Store) SaveNames(ctx context.Context, slot ingest.Slot, region ingest.Region, names []ingest.Category) (ingest.Slot, error) {
	slot = s.stamp(slot)
	err := s.withFence(ctx, "save the names of categories", &slot, func(tx *txn, _, _ int64) error {
		if _, err := tx.ExecContext(ctx, `DELETE FROM categories WHERE region = ?`, region); err != nil {
			return err
		}
		var rows [][2]string
		for _, c := range names {
			rows = append(rows, [2]string{c.ID, c.Name})
		}
		if err := execJSON(ctx, tx, `
			INSERT INTO categories (id, name, region) SELECT value ->> 0, value ->> 1, ?2 FROM json_each(?1) WHERE true
			ON CONFLICT DO NOTHING`, rows, region); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, `
			INSERT INTO named (region, named_at) VALUES (?, ?)
			ON CONFLICT (region) DO UPDATE SET named_at = excluded.named_at`, region, slot.FetchedAt.UnixMilli())
		return err
	})
	return slot, err
}
