package store

import (
	"context"
	"database/sql"
	"time"

	"github.com/trendvidstream/ingest"
)

const (
	movedPlaces = 50                 // of a chart that are compared: places below change for other reasons
	movedCharts = 24                 // of each region: two days at the pace of a small budget
	movedWithin = 7 * 24 * time.Hour // older charts say little about today
)

// readMoves returns, for the newest ?3 done charts of each region of job ?1 that were due from ?2 on, how many of the
// first ?4 places have videos that the chart before did not have. It needs one look into placements_video per place.
const readMoves = `
WITH charts AS (
	SELECT slots.id, slots.series, key, fetched_at,
	       lag(slots.id) OVER older AS older, lag(fetched_at) OVER older AS since,
	       row_number() OVER (PARTITION BY slots.series ORDER BY due_at DESC) AS place
	FROM series JOIN slots ON slots.series = series.id
	WHERE job = ?1 AND backfill IS NULL AND state = 'done' AND due_at >= ?2
	WINDOW older AS (PARTITION BY slots.series ORDER BY due_at)
)
SELECT key, since, fetched_at, (
	SELECT count(*) FROM placements AS place
	WHERE place.slot = charts.id AND rank <= ?4 AND NOT EXISTS (
		SELECT 1 FROM placements AS was WHERE was.video = place.video AND was.series = place.series AND was.slot = charts.older))
FROM charts WHERE place <= ?3 AND older IS NOT NULL ORDER BY key, fetched_at`

// ChartMoves returns how much was new in the newest charts of a job, by region, oldest first: at most 24 charts of a
// region, from the last seven days before now.
func (s *Store) ChartMoves(ctx context.Context, job string, now time.Time) ([]ingest.ChartMove, error) {
	return collectView(ctx, s.database, "read how fast the charts move", func(row scanner) (m ingest.ChartMove, err error) {
		var from, to sql.NullInt64
		err = row.Scan(&m.Key, &from, &to, &m.New)
		m.From, m.To = time.UnixMilli(from.Int64).UTC(), time.UnixMilli(to.Int64).UTC()
		return m, err
	}, readMoves, job, ceilUnix(now.Add(-movedWithin)), movedCharts, movedPlaces)
}
