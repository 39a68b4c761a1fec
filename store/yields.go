package store

import (
	"context"
	"database/sql"
	"time"

	"github.com/trendvidstream/ingest"
)

// Yields returns what the charts that were due since a time brought, each compared with the one before it. It reads the
// places of all of them: a week of eight regions is half a million.
func (s *Store) Yields(ctx context.Context, since, now time.Time) (ingest.Yields, error) {
	of := ingest.Yields{Since: since, Until: now}
	err := s.view(ctx, "read what charts brought", func(tx *txn) error {
		series := map[int64]ingest.Series{}
		var ids []int64
		err := each(ctx, tx, func(rows *sql.Rows) error {
			var id int64
			var one ingest.Series
			err := rows.Scan(&id, &one.Job, &one.Key)
			series[id], ids = one, append(ids, id)
			return err
		}, `SELECT id, job, key FROM series WHERE backfill IS NULL ORDER BY job, key`)
		for _, id := range ids {
			if err != nil {
				return err
			}
			var y ingest.SeriesYield
			if y, err = seriesYield(ctx, tx, id, since); y.Charts > 0 {
				y.Series = series[id]
				of.Series = append(of.Series, y)
			}
		}
		if err != nil {
			return err
		}
		return tx.QueryRowContext(ctx, `
			SELECT (SELECT coalesce(min(due_at), ?1) FROM slots WHERE kind <> 'backfill' AND kind = 'chart' AND state = 'done' AND due_at >= ?1),
			       (SELECT coalesce(sum(units), 0) FROM slots WHERE kind <> 'backfill' AND kind = 'refresh' AND due_at >= ?1),
			       (SELECT count(*) FROM video_latest WHERE fetched_at >= ?2 AND seen_at < ?2)`, ceilUnix(since), since.UnixMilli()).
			Scan(inSeconds(&of.Since), &of.RefreshUnits, &of.Unseen)
	})
	return of, err
}

// seriesYield compares the charts of a series.
func seriesYield(ctx context.Context, tx *txn, series int64, since time.Time) (y ingest.SeriesYield, err error) {
	var before, chart []int64
	var slot, units int64
	pages := 0
	end := func() {
		if before != nil && chart != nil {
			y.Compare(before, chart, pages, units)
		}
		before, chart = chart, nil
	}
	err = each(ctx, tx, func(rows *sql.Rows) error {
		var at, spent, video int64
		var fetched int
		if err := rows.Scan(&at, &fetched, &spent, &video); err != nil {
			return err
		}
		if at != slot {
			end()
			slot, pages, units = at, fetched, spent
		}
		chart = append(chart, video)
		return nil
	}, `
		SELECT slots.id, pages, units, video FROM slots JOIN placements ON placements.slot = slots.id
		WHERE slots.series = ?1 AND kind = 'chart' AND state = 'done' AND due_at >= ?2 ORDER BY due_at, rank`, series, ceilUnix(since))
	end()
	return y, err
}

// UsedSlots returns all slots of the schedule that were due since a time, whatever became of them, and the pieces of
// backfills that spent since then.
func (s *Store) UsedSlots(ctx context.Context, since time.Time) (slots []ingest.Slot, err error) {
	err = s.view(ctx, "list the slots that spent quota", func(tx *txn) error {
		if slots, err = selectReports(ctx, tx, `kind <> 'backfill' AND due_at >= ?`, ceilUnix(since)); err != nil {
			return err
		}
		pieces, err := selectReports(ctx, tx, `kind = 'backfill' AND units > 0 AND coalesce(fetched_at, due_at * 1000) >= ?`, since.UnixMilli())
		slots = append(slots, pieces...)
		return err
	})
	return slots, err
}
