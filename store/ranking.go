package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"math"
	"strings"

	"github.com/trendvidstream/ingest/store/text"
)

// readLeading is who leads a chart now: the best rank, up to ?2, that a video has in the newest slots up
// to ?3 of the charts of region ?1, ” for all.
const readLeading = `
WITH newest AS (
	SELECT (
		SELECT id FROM slots
		WHERE slots.series = series.id AND kind = 'chart' AND videos > 0 AND id <= ?3
		ORDER BY due_at DESC LIMIT 1
	) AS slot
	FROM series WHERE backfill IS NULL AND ?1 IN ('', key)
)
SELECT video, min(rank) FROM newest CROSS JOIN placements ON placements.slot = newest.slot
WHERE rank <= ?2
GROUP BY video`

// leading are the ranks of the videos that lead a chart now.
func (f *finder) leading(ctx context.Context) (map[int64]int, error) {
	ranks := map[int64]int{}
	err := each(ctx, f.tx, func(rows *sql.Rows) error {
		var video int64
		var rank int
		err := rows.Scan(&video, &rank)
		ranks[video] = rank
		return err
	}, readLeading, f.q.Region, text.TopRanks, f.after.slot)
	return ranks, err
}

// readRises are the views that the videos in ?1, a JSON array of ids, have gained between their last two
// counts in a chart of region ?2, ” for all: the most of any chart. Within a series slots with
// placements are numbered as they were due, so up to ?3 the greatest number is the last sighting.
const readRises = `
SELECT given.key, max((
	SELECT views FROM placements
	WHERE video = given.value AND series = series.id AND slot <= ?3 AND views IS NOT NULL
	ORDER BY slot DESC LIMIT 1
) - (
	SELECT views FROM placements
	WHERE video = given.value AND series = series.id AND slot <= ?3 AND views IS NOT NULL
	ORDER BY slot DESC LIMIT 1 OFFSET 1
))
FROM json_each(?1) AS given CROSS JOIN series
WHERE backfill IS NULL AND series.key <> '' AND ?2 IN ('', series.key)
GROUP BY given.key`

// rises sets what the candidates have gained.
func (f *finder) rises(ctx context.Context, of []candidate) error {
	list, err := json.Marshal(ids(of))
	if err != nil {
		return err
	}
	return each(ctx, f.tx, func(rows *sql.Rows) error {
		var at int
		var gained *int64
		err := rows.Scan(&at, &gained)
		of[at].gained = gained
		return err
	}, readRises, string(list), f.q.Region, f.after.slot)
}

// spread divides the scores of videos with the same title by one for the best, two for the second and so on, so
// that copies of one video do not fill the first page. The candidates are sorted by score.
func spread(found []candidate) {
	met := map[string]int{}
	for i := range found {
		title := strings.Join(found[i].TitleTokens, " ")
		met[title]++
		found[i].score /= float64(met[title])
	}
}

// keyFor is what the candidate is ordered by. What is not known comes last.
func (c candidate) keyFor(o Order) [2]float64 {
	switch o {
	case ByViews:
		if !c.views.Valid {
			return [2]float64{-1}
		}
		return [2]float64{float64(c.views.Int64)}
	case ByFreshness:
		return [2]float64{float64(c.seenAt), float64(c.publishedAt.Int64)}
	case ByRise:
		if c.gained == nil {
			return [2]float64{-math.MaxFloat64}
		}
		return [2]float64{float64(*c.gained)}
	default:
		return [2]float64{c.score}
	}
}
