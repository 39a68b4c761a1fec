package store

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/trendvidstream/ingest"
)

// NoChartUntil implements fetch.Library.
func (s *Store) NoChartUntil(ctx context.Context, region ingest.Region, category string) (until time.Time, err error) {
	var at sql.NullInt64
	err = s.read.QueryRowContext(ctx, `SELECT until FROM absent_charts WHERE region = ? AND category = ?`, region, whole(category)).Scan(&at)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return fromMillis(at), s.explain(ctx, "look for charts that do not exist", err)
}

// SaveNoChart implements fetch.Sink.
func (s *Store) SaveNoChart(ctx context.Context, region ingest.Region, category string, until time.Time) error {
	return s.tx(ctx, "remember a chart that does not exist", func(tx *txn) error {
		if until.IsZero() {
			_, err := tx.ExecContext(ctx, `DELETE FROM absent_charts WHERE region = ? AND category = ?`, region, whole(category))
			return err
		}
		_, err := tx.ExecContext(ctx, `
			INSERT INTO absent_charts (region, category, until) VALUES (?, ?, ?)
			ON CONFLICT (region, category) DO UPDATE SET until = excluded.until`, region, whole(category), until.UnixMilli())
		return err
	})
}

// whole is a category with one word for the whole chart.
func whole(category string) string {
	if category == "0" {
		return ""
	}
	return category
}
