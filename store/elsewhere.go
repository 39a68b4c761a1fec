package store

import (
	"context"
	"database/sql"
	"math"
	"time"

	"github.com/trendvidstream/ingest"
)

// Place is a rank in a region's chart.
type Place struct {
	Region ingest.Region
	Rank   int
}

// findElsewhere returns where the videos of ?1, the upstream's ids, stand in the charts of job ?2 in regions other than
// ?3: in each region's newest chart due at ?4 or earlier.
const findElsewhere = `
SELECT video_id, key, rank
FROM series CROSS JOIN placements ON placements.slot = (
	SELECT s.id FROM slots AS s
	WHERE s.series = series.id AND s.kind = 'chart' AND s.due_at <= ?4 AND s.state = 'done' AND (SELECT 1 FROM placements WHERE slot = s.id LIMIT 1) IS NOT NULL
	ORDER BY s.due_at DESC LIMIT 1
) JOIN video_facts ON video_facts.id = placements.video
WHERE backfill IS NULL AND job = ?2 AND key <> ?3 AND placements.video IN (SELECT id FROM video_facts WHERE video_id IN (SELECT value FROM json_each(?1)))
ORDER BY rank, key`

// Elsewhere returns where else the videos stand in the charts of a job at a time, zero for now, the best rank first.
func (s *Store) Elsewhere(ctx context.Context, job string, region ingest.Region, at time.Time, videos []string) (map[string][]Place, error) {
	until, places := int64(math.MaxInt64), map[string][]Place{}
	if !at.IsZero() {
		until = at.Unix()
	}
	err := s.view(ctx, "look for videos in other charts", func(tx *txn) error {
		return each(ctx, tx, func(rows *sql.Rows) error {
			var id string
			var p Place
			err := rows.Scan(&id, &p.Region, &p.Rank)
			places[id] = append(places[id], p)
			return err
		}, findElsewhere, listJSON(videos), job, region, until)
	})
	return places, err
}

// CategoryNames returns the names of categories, in any region that has one.
func (s *Store) CategoryNames(ctx context.Context) (names map[string]string, err error) {
	err = s.view(ctx, "read the names of categories", func(tx *txn) error {
		names, err = categoryNames(ctx, tx)
		return err
	})
	return names, err
}

// categoryNames returns the names of categories, in any region that has one.
func categoryNames(ctx context.Context, tx *txn) (map[string]string, error) {
	return pairs[string, string](ctx, tx, `SELECT id, min(name) FROM categories GROUP BY id`)
}
