package store

import (
	"context"
	"database/sql"
	"time"

	"github.com/trendvidstream/ingest"
)

// RegionsToName implements fetch.Library. Each region's names last up to six more days, a different time for each, so
// that later fetches are spread over days.
func (s *Store) RegionsToName(ctx context.Context, charted, stale time.Time) (regions []ingest.Region, err error) {
	err = s.view(ctx, "find the regions whose categories have no names", func(tx *txn) error {
		return each(ctx, tx, func(rows *sql.Rows) error {
			var region ingest.Region
			var named time.Time
			if err := rows.Scan(&region, inMillis(&named)); err != nil {
				return err
			}
			days := 0
			for i, letter := range region {
				days += (i + 1) * int(letter)
			}
			if named.Before(stale.AddDate(0, 0, -days%7)) {
				regions = append(regions, region)
			}
			return nil
		}, `
			SELECT DISTINCT key, named_at FROM series LEFT JOIN named ON region = key
			WHERE backfill IS NULL AND EXISTS (SELECT 1 FROM slots WHERE series = series.id AND kind = 'chart'
				AND state = 'done' AND fetched_at < ?)
			ORDER BY key`, charted.UnixMilli())
	})
	return regions, err
}

// SaveNames implements fetch.Sink.
func (s *Store) SaveNames(ctx context.Context, slot ingest.Slot, region ingest.Region,
	names []ingest.Category) (ingest.Slot, error) {
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

// CategoryNames returns a name for each category, of any region.
func (s *Store) CategoryNames(ctx context.Context) (map[string]string, error) {
	return viewed(ctx, s.database, "read the names of categories",
		func(tx *txn) (map[string]string, error) { return categoryNames(ctx, tx) })
}

func categoryNames(ctx context.Context, tx querier) (map[string]string, error) {
	return pairs[string, string](ctx, tx, `SELECT id, min(name) FROM categories GROUP BY id`)
}

// Charted implements fetch.Library.
func (s *Store) Charted(ctx context.Context, series ingest.Series) (charted bool, err error) {
	err = s.read.QueryRowContext(ctx, `
		SELECT EXISTS (SELECT 1 FROM slots JOIN series ON series.id = series
		               WHERE job = ? AND key = ? AND backfill IS NULL AND kind = 'chart' AND state = 'done' AND videos > 0)`,
		series.Job, series.Key).
		Scan(&charted)
	return charted, s.explain(ctx, "look for a chart of the series", err)
}

// NoChartUntil implements fetch.Library.
func (s *Store) NoChartUntil(ctx context.Context, region ingest.Region, category string) (until time.Time, err error) {
	err = s.read.QueryRowContext(ctx, `SELECT max(until) FROM absent_charts WHERE region = ? AND category = ?`,
		region, orWhole(category)).
		Scan(inMillis(&until))
	return until, s.explain(ctx, "look for charts that do not exist", err)
}

// SaveNoChart implements fetch.Sink.
func (s *Store) SaveNoChart(ctx context.Context, region ingest.Region, category string, until time.Time) error {
	query, args := `DELETE FROM absent_charts WHERE region = ? AND category = ?`, []any{region, orWhole(category)}
	if !until.IsZero() {
		query = `
			INSERT INTO absent_charts (region, category, until) VALUES (?, ?, ?)
			ON CONFLICT (region, category) DO UPDATE SET until = excluded.until`
		args = append(args, until.UnixMilli())
	}
	_, err := s.exec(ctx, "remember a chart that does not exist", query, args...)
	return err
}

// orWhole returns the category, "" for the whole chart.
func orWhole(category string) string {
	if category == "0" {
		return ""
	}
	return category
}
