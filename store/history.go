package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/trendvidstream/ingest"
)

// ErrNoVideo is returned for a video that the store does not hold.
var ErrNoVideo = errors.New("the store has no such video")

// HistoryQuery selects a video, and which of its sightings. A zero field excludes nothing.
type HistoryQuery struct {
	VideoID string
	Region  ingest.Region
	Job     string
	Since   time.Time // due at or after it
	Partial bool      // includes charts that were cut short
}

// History is the path of a video through the charts.
type History struct {
	Video     ingest.Video // as it was last fetched
	Category  string       // what its category is called; "": not known
	Sightings []Sighting   // oldest first; those due at the same time by job and region
}

// Sighting is a video in one chart at one slot.
type Sighting struct {
	Job    string
	Region ingest.Region
	Slot   time.Time // when it was due
	Rank   int

	// Counts are nil if the upstream withheld them. Gained is the increase in views since the previous sighting in the
	// same chart; nil if there is none, or no count.
	Views, Likes, Comments, Gained *int64
}

// readHistory returns the placements of video ?1 in charts of region ?2 and job ?3 (either empty: all), in slots due
// from ?4 on that are done, or with ?5 in any state.
const readHistory = `
SELECT series.id, job, key, due_at, rank, views, likes, comments
FROM placements CROSS JOIN slots ON slots.id = placements.slot JOIN series ON series.id = placements.series
WHERE video = ?1 AND ?2 IN ('', key) AND ?3 IN ('', job) AND due_at >= ?4 AND (state = 'done' OR ?5)
ORDER BY due_at, job, key`

// History returns a video's appearances in the stored charts. ErrNoVideo if the store does not hold it; one that it holds
// may have no sightings, since charts go after ingest.KeepFor and videos may stay.
func (s *Store) History(ctx context.Context, q HistoryQuery) (History, error) {
	var h History
	err := s.view(ctx, "read a video's history", func(tx *txn) error {
		var id int64
		var err error
		h.Video, err = scanVideo(tx.QueryRowContext(ctx,
			`SELECT `+videoColumns+`, videos.id FROM videos LEFT JOIN channels ON channels.id = videos.channel WHERE video_id = ?`, q.VideoID), &id)
		if errors.Is(err, sql.ErrNoRows) {
			return fmt.Errorf("%q: %w", q.VideoID, ErrNoVideo)
		}
		if err != nil {
			return err
		}
		names, err := categoryNames(ctx, tx)
		if err != nil {
			return err
		}
		h.Category = names[h.Video.Category]
		since := int64(0)
		if !q.Since.IsZero() {
			since = ceilUnix(q.Since)
		}
		before := map[int64]*int64{} // the previous views, by series
		return each(ctx, tx, func(rows *sql.Rows) error {
			var series int64
			var at Sighting
			err := rows.Scan(&series, &at.Job, &at.Region, inSeconds(&at.Slot), &at.Rank, &at.Views, &at.Likes, &at.Comments)
			at.Gained = gained(before[series], at.Views)
			before[series] = at.Views
			h.Sightings = append(h.Sightings, at)
			return err
		}, readHistory, id, q.Region, q.Job, since, q.Partial)
	})
	return h, err
}
