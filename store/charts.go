package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/trendvidstream/ingest"
)

// ErrNoChart is returned when no chart of the region is stored.
var ErrNoChart = errors.New("no chart is stored")

// Chart is one region's chart as it stood at one slot.
type Chart struct {
	Job       string
	Region    ingest.Region
	Slot      time.Time // when it was due
	FetchedAt time.Time // when its last page was saved

	// Items are in rank order, with the counts of that slot; everything else of a video is as it
	// was last fetched.
	Items []ingest.Placement
}

// findChart is the newest slot of a chart of region ?1 due at or before ?2 (NULL: any time) that is
// done, or with ?3 just has placements. Of several jobs with a slot at that time the oldest counts.
const findChart = `
SELECT slots.id, job, due_at, fetched_at
FROM series JOIN slots ON slots.series = series.id
WHERE key = ?1 AND kind = 'chart' AND due_at <= coalesce(?2, due_at) AND (state = 'done' OR ?3)
  AND EXISTS (SELECT 1 FROM placements WHERE slot = slots.id)
ORDER BY due_at DESC, series.id
LIMIT 1`

const readChart = `
SELECT ` + videoColumns + `, rank, placements.views, placements.likes, placements.comments
FROM placements JOIN videos ON videos.id = placements.video LEFT JOIN channels ON channels.id = videos.channel
WHERE slot = ?
ORDER BY rank`

// Chart is the newest done chart of the region that was due at or before at; the zero time is now.
// With partial, one that was cut short counts as well. ErrNoChart when there is none: charts are kept
// for ingest.KeepFor.
func (s *Store) Chart(ctx context.Context, region ingest.Region, at time.Time, partial bool) (Chart, error) {
	c := Chart{Region: region}
	err := s.view(ctx, "read a chart", func(tx *sql.Tx) error {
		var slot, due int64
		var fetched sql.NullInt64
		until := sql.NullInt64{Int64: at.Unix(), Valid: !at.IsZero()}
		err := tx.QueryRowContext(ctx, findChart, region, until, partial).Scan(&slot, &c.Job, &due, &fetched)
		if errors.Is(err, sql.ErrNoRows) {
			return noChart(region, at, partial)
		}
		if err != nil {
			return err
		}
		c.Slot, c.FetchedAt = time.Unix(due, 0).UTC(), fromMillis(fetched)
		return each(ctx, tx, func(rows *sql.Rows) error {
			var rank int
			var views, likes, comments *int64
			v, err := scanVideo(rows, &rank, &views, &likes, &comments)
			v.Views, v.Likes, v.Comments = views, likes, comments
			c.Items = append(c.Items, ingest.Placement{Rank: rank, Video: v})
			return err
		}, readChart, slot)
	})
	return c, err
}

func noChart(region ingest.Region, at time.Time, partial bool) error {
	kind, when := "complete chart", ""
	if partial {
		kind = "chart"
	}
	if !at.IsZero() {
		when = " at or before " + at.UTC().Format(time.RFC3339)
	}
	return fmt.Errorf("no %s of %s%s: %w", kind, region, when, ErrNoChart)
}
