package store

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/trendvidstream/ingest"
)

// Course is a video's ranks in the charts of one series, to be drawn as a line. For all its charts see History.
type Course struct {
	Since time.Time // the slot of the first kept chart that has it
	Peak  int       // its best rank in the kept charts
	Ranks []int     // of the charts of the last 24 hours, oldest first, at most courseLength; 0: not in that chart
}

// courseLength is the most ranks of a course: a schedule that is more frequent has some of its charts left out.
const courseLength = 48

// findCourses returns, for the videos ?1 (upstream ids), the first slot and the best rank in the complete charts of
// series ?2 due at ?3 or earlier.
const findCourses = `
SELECT video_id, min(due_at), min(rank)
FROM video_facts CROSS JOIN placements ON placements.video = video_facts.id
	CROSS JOIN slots ON slots.id = placements.slot
WHERE video_id IN (SELECT value FROM json_each(?1)) AND placements.series = ?2 AND state = 'done' AND due_at <= ?3
GROUP BY video_id`

// courseSlots returns the slots of the complete charts of series ?1 due after ?2, up to ?3, oldest first.
const courseSlots = `SELECT id FROM slots WHERE series = ?1 AND kind = 'chart' AND state = 'done'
	AND due_at > ?2 AND due_at <= ?3 ORDER BY due_at`

// courseRanks returns the ranks of the videos ?1 (upstream ids) in the slots ?3 of series ?2.
const courseRanks = `
SELECT video_id, slot, rank
FROM video_facts CROSS JOIN placements ON placements.video = video_facts.id
WHERE video_id IN (SELECT value FROM json_each(?1)) AND placements.series = ?2
  AND placements.slot IN (SELECT CAST(value AS bigint) FROM json_each(?3))`

// Courses returns the courses of videos, by their ids, through the complete charts of a region and a job that were due
// at a time (zero: now) or earlier. A video without such a chart has none.
func (s *Store) Courses(ctx context.Context, region ingest.Region, job string, at time.Time,
	videos []string) (map[string]Course, error) {
	courses, until := map[string]Course{}, s.until(at)
	err := s.view(ctx, "read the courses of videos", func(tx *txn) error {
		var series int64
		err := tx.QueryRowContext(ctx, `SELECT id FROM series WHERE backfill IS NULL AND key = ? AND job = ?`,
			region, job).Scan(&series)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		ids, err := column[int64](ctx, tx, courseSlots, series, until-24*60*60, until)
		if err != nil {
			return err
		}
		var slots []int64
		place := map[int64]int{} // of a slot, in Ranks
		for i, id := range ids {
			if most := min(courseLength, len(ids)); i*most/len(ids) == len(slots) {
				place[id], slots = len(slots), append(slots, id)
			}
		}
		err = each(ctx, tx, func(rows *sql.Rows) error {
			var id string
			c := Course{Ranks: make([]int, len(slots))}
			err := rows.Scan(&id, inSeconds(&c.Since), &c.Peak)
			courses[id] = c
			return err
		}, findCourses, listJSON(videos), series, until)
		if err != nil || len(slots) == 0 {
			return err
		}
		return each(ctx, tx, func(rows *sql.Rows) error {
			var id string
			var slot int64
			var rank int
			err := rows.Scan(&id, &slot, &rank)
			courses[id].Ranks[place[slot]] = rank
			return err
		}, courseRanks, listJSON(videos), series, listJSON(slots))
	})
	return courses, err
}
