package store

import (
	"context"
	"database/sql"
	"iter"
	"time"

	"github.com/trendvidstream/ingest"
)

// VideosToRefresh implements fetch.Library.
func (s *Store) VideosToRefresh(ctx context.Context, now time.Time, early time.Duration, n int) ([]string, error) {
	before := now.Add(early - ingest.RefreshAfter)
	return collectView(ctx, s.database, "find the videos to refresh", scanValue[string], `SELECT video_id`+oldVideos,
		dayOf(before), before.UnixMilli(), now.Add(-ingest.KeepFor).UnixMilli(), n)
}

// CountToRefresh counts the oldest n videos that VideosToRefresh would return, by day: first the videos of now, then
// the videos that each day until ingest.RefreshEarly from now adds.
func (s *Store) CountToRefresh(ctx context.Context, now time.Time, n int) ([]int, error) {
	counts := make([]int, 1+ingest.RefreshEarly/(24*time.Hour))
	before, due := now.Add(ingest.RefreshEarly-ingest.RefreshAfter), now.Add(-ingest.RefreshAfter)
	_, err := collectView(ctx, s.database, "count the videos to refresh", func(row scanner) (days int, err error) {
		var videos int
		if err = row.Scan(&days, &videos); err == nil {
			counts[days] = videos
		}
		return days, err
	}, `SELECT days, count(*) FROM (SELECT CASE WHEN fetched_at < ?5
		THEN 0 ELSE 1 + (fetched_at - ?5) / 86400000 END AS days`+oldVideos+`) AS old GROUP BY days`,
		dayOf(before), before.UnixMilli(), now.Add(-ingest.KeepFor).UnixMilli(), n, due.UnixMilli())
	return counts, err
}

// oldVideos selects up to ?4 videos last fetched before ?2, a time on day ?1, that no backfill keeps fresh. They were
// seen at ?3 or later, and will still count as seen lately when they are old enough.
const oldVideos = ` FROM videos WHERE fetched_day <= ?1 AND fetched_at < ?2
	AND (upkeep = 1 OR upkeep IS NULL AND seen_at >= ?3 AND seen_at >= fetched_at - 345600000)
	AND NOT EXISTS (SELECT 1 FROM absences WHERE video = videos.id AND asked_at > fetched_at)
	ORDER BY fetched_day, id LIMIT ?4`

// SaveVideos implements fetch.Sink. slot.Videos counts the videos that came back, from 0 on page 1. Unrequested
// videos, and videos that a sweep has deleted, are skipped.
func (s *Store) SaveVideos(ctx context.Context, slot ingest.Slot, asked ingest.Asked,
	page ingest.Page) (_ ingest.Slot, a ingest.Absences, _ error) {
	slot, page = s.stamp(slot), plainPage(page)
	if slot.Pages == 1 {
		slot.Videos = 0
	}
	err := s.withFence(ctx, "save refreshed videos", &slot, func(tx *txn, _, _ int64) error {
		came, _, absences, err := putRequested(ctx, tx, slot.FetchedAt, asked, page.Videos, false)
		slot.Videos += came
		a = absences
		return err
	})
	return slot, a, err
}

// uncounted also scans videos counted since then: an index of its own would slow each re-sighting of a video by a
// tenth.
const uncounted = `
SELECT video_id FROM videos WHERE fetched_day <= ?2 AND fetched_at < ?1 AND coalesce(counted_at, 0) < ?1
ORDER BY fetched_day, id LIMIT ?3`

// VideosToCount implements fetch.Library.
func (s *Store) VideosToCount(ctx context.Context, before time.Time, n int) ([]string, error) {
	return collectView(ctx, s.database, "find the videos to count", scanValue[string], uncounted,
		before.UnixMilli(), dayOf(before), n)
}

// SaveCounts implements fetch.Sink. slot.Videos grows by the videos counted. A withheld count becomes unknown. Videos
// that did not come back are kept; they are asked for again after a day, or sooner if the answer is suspect.
func (s *Store) SaveCounts(ctx context.Context, slot ingest.Slot, asked []string,
	counts []ingest.Counts) (ingest.Slot, error) {
	slot = s.stamp(slot)
	err := s.withFence(ctx, "save counts", &slot, func(tx *txn, id, series int64) error {
		type video struct {
			id       int64
			category string
		}
		known, traits := map[string]video{}, map[int64]byte{}
		err := each(ctx, tx, func(rows *sql.Rows) error {
			var id string
			var v video
			err := rows.Scan(&id, &v.id, &v.category)
			known[id] = v
			return err
		}, `SELECT video_id, video_facts.id, category FROM json_each(?1) AS given
			CROSS JOIN video_facts ON video_id = given.value`, listJSON(asked))
		if err != nil {
			return err
		}
		var rows [][4]any
		for _, c := range counts {
			if v, ok := known[c.ID]; ok {
				traits[v.id] = traitOf(c.Views, v.category)
				rows = append(rows, [4]any{v.id, c.Views, c.Likes, c.Comments})
			}
		}
		slot.Videos += len(rows)
		if err := writeTraits(ctx, tx, traits); err != nil {
			return err
		}
		if err := execJSON(ctx, tx, `
			UPDATE video_latest
			SET views = CAST(value ->> 1 AS bigint), likes = CAST(value ->> 2 AS bigint), comments = CAST(value ->> 3 AS bigint)
			FROM json_each(?1) AS given WHERE video_latest.id = CAST(given.value ->> 0 AS bigint)`, rows); err != nil {
			return err
		}
		if slot.Kind == ingest.KindVideos {
			if err := placeCounts(ctx, tx, id, series, rows, slot.FetchedAt); err != nil {
				return err
			}
		}
		if ingest.Suspect(len(asked), len(counts)) {
			asked = nil
			for _, c := range counts {
				asked = append(asked, c.ID)
			}
		}
		return execJSON(ctx, tx, `
			UPDATE video_latest SET counted_at = ?2
			WHERE id IN (SELECT id FROM video_facts WHERE video_id IN (SELECT value FROM json_each(?1)))`,
			asked, slot.FetchedAt.UnixMilli())
	})
	return slot, err
}

// placeCounts keeps counts (id, views, likes, comments) as the placements of a slot of a watch list, and its videos as
// seen.
func placeCounts(ctx context.Context, tx *txn, slot, series int64, counts [][4]any, at time.Time) error {
	rank, placed, err := placedIn(ctx, tx, slot)
	if err != nil {
		return err
	}
	var rows [][]any
	var videos []int64
	for _, c := range counts {
		if video := c[0].(int64); !placed[video] {
			rank++
			placed[video] = true
			rows = append(rows, []any{slot, rank, video, series, c[1], c[2], c[3]})
			videos = append(videos, video)
		}
	}
	if len(rows) == 0 {
		return nil
	}
	if err := addCharted(ctx, tx, series, videos); err != nil {
		return err
	}
	if err := insertRows(ctx, tx, `INSERT INTO placements (slot, rank, video, series, views, likes, comments) VALUES`,
		"", rows); err != nil {
		return err
	}
	return execJSON(ctx, tx, `UPDATE video_latest SET seen_at = max(seen_at, ?2)
		WHERE id IN (SELECT CAST(value AS bigint) FROM json_each(?1))`, videos, at.UnixMilli())
}

// VideosCharted implements fetch.Library.
func (s *Store) VideosCharted(ctx context.Context, since time.Time) ([]string, error) {
	return collectView(ctx, s.database, "find charted videos", scanValue[string], `
		SELECT DISTINCT video_id FROM slots CROSS JOIN placements ON placements.slot = slots.id
			CROSS JOIN video_facts ON video_facts.id = video
		WHERE due_at >= ? AND slots.kind <> 'backfill' AND slots.kind = 'chart' AND state = 'done' AND gone = 0`,
		ceilUnix(since))
}

// Older yields the IDs of all videos last fetched before a time, oldest day first, n at a time. It reads in steps,
// which do not block writers and need little memory.
func (s *Store) Older(ctx context.Context, before time.Time, n int) iter.Seq2[[]string, error] {
	return func(yield func([]string, error) bool) {
		for day, row := int64(-1<<62), int64(0); ; {
			var ids []string
			err := each(ctx, s.read, func(rows *sql.Rows) error {
				var id string
				err := rows.Scan(&day, &row, &id)
				ids = append(ids, id)
				return err
			}, olderVideos, day, row, dayOf(before), before.UnixMilli(), n)
			if err != nil {
				yield(nil, s.explain(ctx, "find old videos", err))
				return
			}
			if len(ids) == 0 || !yield(ids, nil) {
				return
			}
		}
	}
}

// olderVideos selects up to ?5 videos fetched before ?4: the videos of day ?1 after row ?2, then the videos of later
// days up to ?3. One day may have all videos, so that (fetched_day, id) > (?1, ?2) would scan the whole day in every
// step.
const olderVideos = `
SELECT * FROM (
	SELECT * FROM (SELECT fetched_day, id, video_id FROM videos WHERE fetched_day = ?1 AND id > ?2 AND fetched_at < ?4
		ORDER BY id LIMIT ?5) AS that_day
	UNION ALL
	SELECT * FROM (
		SELECT fetched_day, id, video_id FROM videos WHERE fetched_day > ?1 AND fetched_day <= ?3 AND fetched_at < ?4
			ORDER BY fetched_day, id LIMIT ?5
	) AS later
) AS older ORDER BY fetched_day, id LIMIT ?5`
