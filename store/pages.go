package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/trendvidstream/ingest"
)

// SavePage implements fetch.Sink. The page counts as fetched at slot.FetchedAt, or now if that is zero. Videos without
// an ID are skipped.
func (s *Store) SavePage(ctx context.Context, slot ingest.Slot, page ingest.Page) (ingest.Slot, error) {
	slot, page = s.stamp(slot), plainPage(page)
	err := s.withFence(ctx, "save a page", &slot, func(tx *txn, id, series int64) (err error) {
		if slot.Pages == 1 {
			if _, err := tx.ExecContext(ctx, `DELETE FROM placements WHERE slot = ?`, id); err != nil {
				return err
			}
		}
		slot.Videos, err = writePlacements(ctx, tx, id, series, page, slot.FetchedAt)
		if err == nil && slot.State == ingest.Done {
			least, most := 0, math.MaxInt32
			if page.Next != "" { // the job asked for no more pages
				least, most = slot.Pages, slot.Pages
			}
			slot.Usual, err = usualVideos(ctx, tx, series, slot.DueAt, least, most)
		}
		slot.Reason = strings.Trim(slot.Shortness()+"; "+slot.Reason, "; ")
		if err == nil {
			err = s.addChartEvent(ctx, tx, id, series, slot)
		}
		return err
	})
	return slot, err
}

// usualVideos returns the median number of videos in the last ten charts of a series before a time that have videos
// and least to most pages; 0: there is none.
func usualVideos(ctx context.Context, tx *txn, series int64, before time.Time, least, most int) (int, error) {
	videos, err := column[int](ctx, tx, `
		SELECT videos FROM slots WHERE series = ? AND due_at < ? AND kind = 'chart' AND state = 'done' AND videos > 0
			AND pages BETWEEN ? AND ?
		ORDER BY due_at DESC LIMIT 10`, series, before.Unix(), least, most)
	if err != nil || len(videos) == 0 {
		return 0, err
	}
	slices.Sort(videos)
	return videos[len(videos)/2], nil
}

// writePlacements writes the page's videos and ranks, and returns the slot's number of videos.
func writePlacements(ctx context.Context, tx *txn, slot, series int64, page ingest.Page, at time.Time) (int, error) {
	rank, placed, err := placedIn(ctx, tx, slot)
	if err != nil {
		return 0, err
	}
	ids, err := writeVideos(ctx, tx, at, series, page.Videos, true)
	if err != nil {
		return 0, err
	}
	var rows [][]any
	for _, v := range page.Videos {
		video := ids[v.ID]
		if v.ID == "" || placed[video] {
			continue // a video has one rank
		}
		placed[video] = true
		rank++
		rows = append(rows, []any{slot, rank, video, series, v.Views, v.Likes, v.Comments})
	}
	return len(placed), insertRows(ctx, tx,
		`INSERT INTO placements (slot, rank, video, series, views, likes, comments) VALUES`, "", rows)
}

// placedIn returns a slot's last rank, 0 if it has none, and its videos.
func placedIn(ctx context.Context, tx *txn, slot int64) (rank int, videos map[int64]bool, err error) {
	videos = map[int64]bool{}
	err = each(ctx, tx, func(rows *sql.Rows) error {
		var id int64
		err := rows.Scan(&rank, &id)
		videos[id] = true
		return err
	}, `SELECT rank, video FROM placements WHERE slot = ? ORDER BY rank`, slot)
	return rank, videos, err
}

// stamp sets a zero FetchedAt to now, and truncates times to milliseconds.
func (s *Store) stamp(slot ingest.Slot) ingest.Slot {
	if slot.FetchedAt.IsZero() {
		slot.FetchedAt = s.now()
	}
	for _, t := range []*time.Time{&slot.FetchedAt, &slot.TokenAt, &slot.RetryAt, &slot.Lease} {
		*t = t.UTC().Truncate(time.Millisecond)
	}
	return slot
}

// chartPlaces are the videos of a chart, by id.
type chartPlaces map[string]ingest.Place

func placesOf(ctx context.Context, tx *txn, slot int64) (chartPlaces, error) {
	places, err := collect(ctx, tx, func(row scanner) (p ingest.Place, err error) {
		err = row.Scan(&p.VideoID, &p.Title, &p.Channel, &p.Rank)
		return p, err
	}, `
		SELECT video_id, video_facts.title, coalesce(channels.title, ''), rank
		FROM placements JOIN video_facts ON video_facts.id = video LEFT JOIN channels ON channels.id = channel
			WHERE slot = ?`, slot)
	all := chartPlaces{}
	for _, p := range places {
		all[p.VideoID] = p
	}
	return all, err
}

// addChartEvent writes the event of a chart that is complete.
func (s *Store) addChartEvent(ctx context.Context, tx *txn, id, series int64, slot ingest.Slot) error {
	if slot.State != ingest.Done || slot.Kind != ingest.KindChart || !s.wants(ingest.ChartSaved) {
		return nil
	}
	c := ingest.ChartChange{Job: slot.Job, Region: slot.Key, DueAt: slot.DueAt.UTC(), FetchedAt: slot.FetchedAt,
		Videos: slot.Videos, Short: slot.Shortness(),
		Entered: []ingest.Place{}, Left: []ingest.Place{}, Rose: []ingest.Place{}}
	var earlier int64
	var due time.Time
	err := tx.QueryRowContext(ctx, `
		SELECT id, due_at FROM slots
		WHERE series = ? AND due_at < ? AND kind = 'chart' AND state = 'done' AND `+whole+` ORDER BY due_at DESC LIMIT 1`,
		series, slot.DueAt.Unix()).Scan(&earlier, inSeconds(&due))
	switch {
	case errors.Is(err, sql.ErrNoRows):
	case err != nil:
		return err
	default:
		c.Before = &due
	}
	if c.Before != nil && c.Short == "" {
		was, err := placesOf(ctx, tx, earlier)
		if err != nil {
			return err
		}
		is, err := placesOf(ctx, tx, id)
		if err != nil {
			return err
		}
		compareCharts(&c, was, is)
	}
	return s.addEvent(ctx, tx, ingest.ChartSaved, c)
}

func compareCharts(c *ingest.ChartChange, was, is chartPlaces) {
	byRank := func(a, b ingest.Place) int { return cmp.Or(cmp.Compare(a.Rank, b.Rank), cmp.Compare(a.Was, b.Was)) }
	for _, p := range slices.SortedFunc(maps.Values(is), byRank) {
		before, stayed := was[p.VideoID]
		if p.Was = before.Rank; !stayed {
			c.Entered = append(c.Entered, p)
		} else if p.Was-p.Rank >= ingest.RoseBy {
			c.Rose = append(c.Rose, p)
		}
	}
	for _, p := range slices.SortedFunc(maps.Values(was), byRank) {
		if _, stayed := is[p.VideoID]; !stayed {
			p.Rank, p.Was = 0, p.Rank
			c.Left = append(c.Left, p)
		}
	}
}
