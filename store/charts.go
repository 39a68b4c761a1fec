package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/trendvidstream/ingest"
)

// noChartError wraps ErrNoChart and says which chart is missing.
type noChartError string

func (e noChartError) Error() string { return string(e) }
func (noChartError) Unwrap() error   { return ErrNoChart }

// Chart is one region's complete chart at one slot: no pass in progress shows. For a video's way through
// charts see History.
type Chart struct {
	Job       string
	Region    ingest.Region
	Slot      time.Time // when it was due
	FetchedAt time.Time // when its last page was saved
	Partial   bool      // it was cut short, or is short (ingest.Slot.Short)

	// ShortSince is when the oldest of the charts after it was due, which all came back short, the newest with
	// ShortVideos. Zero: there is none, or the query names a time.
	ShortSince  time.Time
	ShortVideos int

	// Slots of other charts of this job that the query admits: the one before, the one after, and the newest that is
	// at least a day older. Zero: there is none.
	Earlier, Later, DayBefore time.Time

	// Items are in rank order, with the counts of that slot; all other data of a video is as last fetched.
	Items []ingest.Placement

	// Categories holds the upstream's names for its categories in the region, by ID; empty until they were fetched.
	Categories map[string]string
}

// ChartQuery selects one chart. A zero field excludes nothing. For a video in all charts see HistoryQuery.
type ChartQuery struct {
	Region ingest.Region
	Job    string // "": the job named chart, else the first that ever charted the region
	// due at or before it; zero or later than now: the newest that is not in the future; zero while all are in the
	// future: the newest
	At      time.Time
	Partial bool // includes charts that were cut short or came back short
	Limit   int  // at most this many items; 0: all
}

// findChart returns the newest slot with a chart of region ?1, due at ?2 or earlier and done (with ?3: in any state),
// of job ?4 or, if that is empty, preferably the job named chart. In each series it reads slots backwards from ?2 to
// the first match.
const findChart = `
WITH charts AS MATERIALIZED (
	SELECT id, job, (
		SELECT s.id FROM slots AS s
		WHERE s.series = series.id AND s.kind = 'chart' AND s.due_at <= ?2 AND (s.state = 'done' AND ` + whole + ` OR ?3)
		  AND (SELECT 1 FROM placements WHERE slot = s.id LIMIT 1) IS NOT NULL -- as EXISTS, Postgres might begin with it
		ORDER BY s.due_at DESC LIMIT 1
	) AS newest
	FROM series WHERE backfill IS NULL AND key = ?1 AND ?4 IN ('', job)
)
SELECT slots.id, charts.id, job, due_at, fetched_at, state <> 'done' OR NOT ` + whole + `
FROM charts CROSS JOIN slots ON slots.id = newest
ORDER BY job <> 'chart', charts.id
LIMIT 1`

// findShort returns when the first of the charts of series ?1 after ?2, up to ?3, was due, and the videos of the last.
const findShort = `
SELECT (SELECT due_at FROM slots` + doneAfter + ` LIMIT 1), coalesce((SELECT videos FROM slots` +
	doneAfter + ` DESC LIMIT 1), 0)`

const doneAfter = ` WHERE series = ?1 AND kind = 'chart' AND state = 'done' AND due_at > ?2
	AND due_at <= ?3 ORDER BY due_at`

// findBeside returns the due times of the charts around the slot of series ?1 due at ?2: the one before, the one
// after, up to ?5, and the newest due at ?4 or earlier; done or, with ?3, in any state. It skips at most two slots
// without placements, which are rare.
const findBeside = `
SELECT ` + beside + `due_at < ?2 ORDER BY due_at DESC` + placed + ` ORDER BY due_at DESC LIMIT 1),
	` + beside + `due_at > ?2 AND due_at <= ?5 ORDER BY due_at` + placed + ` ORDER BY due_at LIMIT 1),
	` + beside + `due_at <= ?4 ORDER BY due_at DESC` + placed + ` ORDER BY due_at DESC LIMIT 1)`

const (
	beside = `(SELECT due_at FROM (SELECT id, due_at FROM slots WHERE series = ?1 AND kind = 'chart'
		AND (state = 'done' AND ` + whole + ` OR ?3) AND `
	placed = ` LIMIT 3) AS s WHERE (SELECT 1 FROM placements WHERE slot = s.id LIMIT 1) IS NOT NULL`
)

const readChart = `
SELECT ` + videoColumns + `, rank, placements.views, placements.likes, placements.comments
FROM placements JOIN ` + withGone + ` ON videos.id = placements.video LEFT JOIN channels ON channels.id = videos.channel
WHERE slot = ?
ORDER BY rank
LIMIT ?`

// Chart is FindChart without a job.
func (s *Store) Chart(ctx context.Context, region ingest.Region, at time.Time, partial bool) (Chart, error) {
	return s.FindChart(ctx, ChartQuery{Region: region, At: at, Partial: partial})
}

// FindChart returns the newest chart that the query admits; ErrNoChart, with the jobs that have a chart, if there is
// none. Charts are kept for ingest.KeepFor.
func (s *Store) FindChart(ctx context.Context, q ChartQuery) (Chart, error) {
	c := Chart{Region: q.Region}
	err := s.view(ctx, "read a chart", func(tx *txn) error {
		var slot, series int64
		find := func(until int64) error {
			return tx.QueryRowContext(ctx, findChart, q.Region, until, q.Partial, q.Job).
				Scan(&slot, &series, &c.Job, inSeconds(&c.Slot), inMillis(&c.FetchedAt), &c.Partial)
		}
		err := find(s.until(q.At))
		if errors.Is(err, sql.ErrNoRows) && q.At.IsZero() { // this clock may be behind
			err = find(math.MaxInt64)
		}
		if errors.Is(err, sql.ErrNoRows) {
			return q.explainNone(ctx, tx)
		}
		if err != nil {
			return err
		}
		if q.At.IsZero() && !c.Partial {
			if err := tx.QueryRowContext(ctx, findShort, series, c.Slot.Unix(), future(s.now())).Scan(inSeconds(&c.ShortSince),
				&c.ShortVideos); err != nil {
				return err
			}
		}
		err = tx.QueryRowContext(ctx, findBeside, series, c.Slot.Unix(), q.Partial,
			c.Slot.Add(-24*time.Hour).Unix(), future(s.now())).
			Scan(inSeconds(&c.Earlier), inSeconds(&c.Later), inSeconds(&c.DayBefore))
		if err != nil {
			return err
		}
		c.Categories, err = pairs[string, string](ctx, tx, `SELECT id, name FROM categories WHERE region = ?`, q.Region)
		if err != nil {
			return err
		}
		c.Items, err = collect(ctx, tx, scanPlacement, readChart, slot, cmp.Or(q.Limit, math.MaxInt))
		return err
	})
	return c, err
}

// until returns the last due time, in seconds, of the charts that count at a time (zero: now): charts in the future do
// not.
func (s *Store) until(at time.Time) int64 {
	if now := future(s.now()); at.IsZero() || at.Unix() > now {
		return now
	}
	return at.Unix()
}

func scanPlacement(row scanner) (ingest.Placement, error) {
	var p ingest.Placement
	var views, likes, comments *int64
	v, err := scanVideo(row, &p.Rank, &views, &likes, &comments)
	v.Views, v.Likes, v.Comments = views, likes, comments
	p.Video = v
	return p, err
}

// chartJobs lists the jobs that have a chart of region ?1, complete or not.
const chartJobs = `
SELECT job FROM series
WHERE backfill IS NULL AND key = ?1
  AND EXISTS (
    SELECT 1 FROM slots
    WHERE series = series.id AND kind = 'chart' AND EXISTS (SELECT 1 FROM placements WHERE slot = slots.id)
  )
ORDER BY job`

// oldestChart returns when the oldest chart of region ?1 and job ?2 (empty: any) was due; NULL if there is none. With
// ?3 it may be partial.
const oldestChart = `
SELECT min(due_at) FROM series JOIN slots ON slots.series = series.id
WHERE backfill IS NULL AND key = ?1 AND kind = 'chart' AND ?2 IN ('', job) AND (state = 'done' OR ?3)
  AND EXISTS (SELECT 1 FROM placements WHERE slot = slots.id)`

// keptCharts returns when the complete charts of region ?1 and job ?2 were due, up to ?3, oldest first.
const keptCharts = `
SELECT due_at FROM series JOIN slots ON slots.series = series.id
WHERE backfill IS NULL AND key = ?1 AND job = ?2 AND kind = 'chart' AND state = 'done' AND ` +
	whole + ` AND due_at <= ?3
  AND EXISTS (SELECT 1 FROM placements WHERE slot = slots.id)
ORDER BY due_at`

// KeptCharts returns when the complete charts of a region and a job were due, oldest first, without those in the
// future.
func (s *Store) KeptCharts(ctx context.Context, region ingest.Region, job string) (kept []time.Time, err error) {
	err = s.view(ctx, "list the charts that are kept", func(tx *txn) error {
		due, err := column[int64](ctx, tx, keptCharts, region, job, future(s.now()))
		for _, at := range due {
			kept = append(kept, time.Unix(at, 0).UTC())
		}
		return err
	})
	return kept, err
}

// oldestShort returns when the oldest done chart of region ?1 and job ?2 (empty: any) was due; NULL if there is none.
const oldestShort = `
SELECT min(due_at) FROM series JOIN slots ON slots.series = series.id
WHERE backfill IS NULL AND key = ?1 AND kind = 'chart' AND ?2 IN ('', job) AND state = 'done'`

// explainNone returns the error of a query that admits no chart.
func (q ChartQuery) explainNone(ctx context.Context, tx *txn) error {
	kind, when, job, hint := "complete chart", "", "", ""
	if q.Partial {
		kind = "chart"
	}
	if !q.At.IsZero() {
		when = " at or before " + q.At.UTC().Format(time.DateTime+"Z")
		var oldest sql.NullInt64
		if err := tx.QueryRowContext(ctx, oldestChart, q.Region, q.Job, q.Partial).Scan(&oldest); err != nil {
			return err
		}
		if oldest.Valid {
			hint = ", the oldest is of " + time.Unix(oldest.Int64, 0).UTC().Format(time.DateTime+"Z")
		}
	} else if !q.Partial {
		var short sql.NullInt64
		if err := tx.QueryRowContext(ctx, oldestShort, q.Region, q.Job).Scan(&short); err != nil {
			return err
		}
		if short.Valid {
			hint = ": each since " + time.Unix(short.Int64, 0).UTC().Format(time.DateTime+"Z") + " came back empty"
		}
	}
	jobs, err := column[string](ctx, tx, chartJobs, q.Region)
	if err != nil {
		return err
	}
	if q.Job != "" {
		job = fmt.Sprintf(" by job %q", q.Job)
		if others := slices.DeleteFunc(jobs, func(of string) bool { return of == q.Job }); len(others) > 0 {
			job += " (there are some by " + strings.Join(others, ", ") + ")"
		}
	}
	return noChartError(fmt.Sprintf("no %s of %s%s%s is stored%s", kind, q.Region, job, when, hint))
}

// topTitles finds the first video in the newest chart of each of the regions ?1, due at ?2 or earlier; of several
// jobs' charts the chart of the job named chart comes last and counts, else the first.
const topTitles = `
SELECT key, title
FROM (
	SELECT id, key, job, (
		SELECT s.id FROM slots AS s
		WHERE s.series = series.id AND s.kind = 'chart' AND s.due_at <= ?2 AND s.state = 'done' AND ` + whole + `
		  AND (SELECT 1 FROM placements WHERE slot = s.id LIMIT 1) IS NOT NULL
		ORDER BY s.due_at DESC LIMIT 1
	) AS newest
	FROM series WHERE backfill IS NULL AND key IN (SELECT value FROM json_each(?1))
) AS charts
JOIN placements ON placements.slot = newest AND placements.rank = (SELECT min(p.rank) FROM placements AS p
	WHERE p.slot = newest)
JOIN video_facts ON video_facts.id = placements.video
ORDER BY job = 'chart', charts.id DESC`

// TopTitles returns the title of the first video in the newest chart of each region that has one.
func (s *Store) TopTitles(ctx context.Context, regions []string) (tops map[string]string, err error) {
	err = s.view(ctx, "read the first title of each chart", func(tx *txn) error {
		tops, err = pairs[string, string](ctx, tx, topTitles, listJSON(regions), s.until(time.Time{}))
		return err
	})
	return tops, err
}

// Place is a rank in a region's chart, of a video that is also in another one.
type Place struct {
	Region ingest.Region
	Rank   int
}

// findElsewhere returns the ranks of the videos ?1 (upstream ids) in job ?2's newest charts, due at ?4 or earlier, of
// regions other than ?3.
const findElsewhere = `
SELECT video_id, key, rank
FROM series CROSS JOIN placements ON placements.slot = (
	SELECT s.id FROM slots AS s
	WHERE s.series = series.id AND s.kind = 'chart' AND s.due_at <= ?4 AND s.state = 'done'
		AND (SELECT 1 FROM placements WHERE slot = s.id LIMIT 1) IS NOT NULL
	ORDER BY s.due_at DESC LIMIT 1
) JOIN video_facts ON video_facts.id = placements.video
WHERE backfill IS NULL AND job = ?2 AND key <> ?3 AND placements.video IN (SELECT id FROM video_facts
	WHERE video_id IN (SELECT value FROM json_each(?1)))
ORDER BY rank, key`

// Elsewhere returns the videos' ranks in a job's charts of other regions at a time (zero: now), best rank first.
func (s *Store) Elsewhere(ctx context.Context, job string, region ingest.Region, at time.Time,
	videos []string) (map[string][]Place, error) {
	places := map[string][]Place{}
	err := s.view(ctx, "look for videos in other charts", func(tx *txn) error {
		return each(ctx, tx, func(rows *sql.Rows) error {
			var id string
			var p Place
			err := rows.Scan(&id, &p.Region, &p.Rank)
			places[id] = append(places[id], p)
			return err
		}, findElsewhere, listJSON(videos), job, region, s.until(at))
	})
	return places, err
}
