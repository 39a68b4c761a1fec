package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/trendvidstream/ingest"
)

// HistoryQuery selects a video's sightings. A zero field excludes nothing.
type HistoryQuery struct {
	VideoID string
	Region  ingest.Region
	Job     string
	Since   time.Time // due at or after it
	Partial bool      // includes charts that were cut short
}

// History is a video's sightings in all charts and watch lists. For the ranks in one series see Course.
type History struct {
	Video     ingest.Video // as it was last fetched
	Category  string       // its category's name; "": not known
	Sightings []Sighting   // oldest first; those due at the same time by job and region
}

// Sighting is a video in one chart at one slot, or in one slot of a watch list.
type Sighting struct {
	Job    string
	Region ingest.Region
	Slot   time.Time // when it was due
	Rank   *int      // nil: a watch list ranks nothing

	// Counts are nil if the upstream withheld them. Gained is the increase in views since the previous sighting in the
	// same chart; nil without one, or without both counts.
	Views, Likes, Comments, Gained *int64
}

// readHistory returns the placements of video ?1 in charts of region ?2 and job ?3 (empty: all), in slots due at ?4 or
// later, but not after ?6, that are done (with ?5: in any state).
const readHistory = `
SELECT series.id, job, key, due_at, CASE WHEN kind <> 'videos' THEN rank END, views, likes, comments
FROM placements CROSS JOIN slots ON slots.id = placements.slot JOIN series ON series.id = placements.series
WHERE video = ?1 AND ?2 IN ('', key) AND ?3 IN ('', job) AND due_at >= ?4 AND due_at <= ?6 AND (state = 'done' OR ?5)
ORDER BY due_at, job, key`

// History returns a video's sightings in the stored charts; ErrNoVideo if the store does not have it. There may be
// none, since videos may outlive charts.
func (s *Store) History(ctx context.Context, q HistoryQuery) (History, error) {
	var h History
	err := s.view(ctx, "read a video's history", func(tx *txn) error {
		var id int64
		var err error
		h.Video, err = scanText(tx.QueryRowContext(ctx,
			selectText+`, videos.id FROM `+withGone+` LEFT JOIN channels ON channels.id = videos.channel
			LEFT JOIN descriptions ON descriptions.video = videos.id
			WHERE video_id = ?`, q.VideoID), &id)
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
		before := map[int64]*int64{} // the previous views, by series
		return each(ctx, tx, func(rows *sql.Rows) error {
			var series int64
			var at Sighting
			err := rows.Scan(&series, &at.Job, &at.Region, inSeconds(&at.Slot), &at.Rank, &at.Views, &at.Likes, &at.Comments)
			at.Gained = gained(before[series], at.Views)
			before[series] = at.Views
			h.Sightings = append(h.Sightings, at)
			return err
		}, readHistory, id, q.Region, q.Job, ceilUnix(q.Since), q.Partial, future(s.now()))
	})
	return h, err
}

// Change says whether a video entered, left, rose, fell or stayed between two charts.
type Change string

// The changes. One vocabulary in JSON, CSV and on the screen.
const (
	New    Change = "new"    // it was not in the older chart
	Risen  Change = "risen"  // its rank is nearer to 1
	Fallen Change = "fallen" // its rank is further from 1
	Same   Change = "same"
	Gone   Change = "gone" // it is not in the newer chart
)

// Move is a video's Change between two charts, with its ranks and gained views.
type Move struct {
	// Placement is from the newer chart, or from the older one if the video is gone.
	ingest.Placement
	Change Change
	Was    int    // its rank in the older chart; 0 if it is new
	Gained *int64 // views since then; nil unless both charts have a count
}

// Compare returns the moves from an older chart to a newer one: the newer chart in rank order, then videos that are
// gone, by their former ranks.
func Compare(older, newer Chart) []Move {
	was := map[string]ingest.Placement{}
	for _, p := range older.Items {
		was[p.Video.ID] = p
	}
	var moves []Move
	for _, p := range newer.Items {
		before, known := was[p.Video.ID]
		m := Move{Placement: p, Change: New, Was: before.Rank}
		if known {
			delete(was, p.Video.ID)
			m.Gained = gained(before.Video.Views, p.Video.Views)
			m.Change = direction(before.Rank, p.Rank)
		}
		moves = append(moves, m)
	}
	for _, p := range older.Items {
		if _, gone := was[p.Video.ID]; gone {
			moves = append(moves, Move{Placement: p, Change: Gone, Was: p.Rank})
		}
	}
	return moves
}

func direction(was, is int) Change {
	switch {
	case is < was:
		return Risen
	case is > was:
		return Fallen
	}
	return Same
}

// gained returns a count's growth, nil unless both are known. It may be negative, as upstreams correct themselves.
func gained(was, is *int64) *int64 {
	if was == nil || is == nil {
		return nil
	}
	return new(*is - *was)
}

// Yields compares each chart due since a time with the one before it. It reads all their placements: half a million
// for a week of eight regions.
func (s *Store) Yields(ctx context.Context, since, now time.Time) (ingest.Yields, error) {
	yields := ingest.Yields{Since: since, Until: now}
	err := s.view(ctx, "read the charts' results", func(tx *txn) error {
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
				yields.Series = append(yields.Series, y)
			}
		}
		if err != nil {
			return err
		}
		return tx.QueryRowContext(ctx, `
			SELECT (SELECT coalesce(min(due_at), ?1) FROM slots WHERE kind <> 'backfill' AND kind = 'chart' AND state = 'done'
				AND due_at >= ?1),
			       (SELECT coalesce(sum(units), 0) FROM slots WHERE kind <> 'backfill' AND kind = 'refresh' AND due_at >= ?1),
			       (SELECT count(*) FROM video_latest WHERE fetched_at >= ?2 AND seen_at < ?2)`,
			ceilUnix(since), since.UnixMilli()).
			Scan(inSeconds(&yields.Since), &yields.RefreshUnits, &yields.Unseen)
	})
	return yields, err
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
		WHERE slots.series = ?1 AND kind = 'chart' AND state = 'done' AND due_at >= ?2 ORDER BY due_at, rank`,
		series, ceilUnix(since))
	end()
	return y, err
}
