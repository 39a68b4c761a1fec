package store

import (
	"context"
	"database/sql"
	"slices"
	"time"

	"github.com/trendvidstream/ingest"
)

// Counts says how many videos a query finds, and how many it would find with another filter. It counts only the newest
// maxTallied matches; if there are more, AtLeast is set.
type Counts struct {
	Matches    int
	AtLeast    bool
	Regions    map[ingest.Region]int // "": any; a video also counts in a region whose last chart with it was just deleted
	Categories map[string]int        // "": any
	Published  map[time.Duration]int // within the last day and the last week; 0: at any time
	Views      map[int64]int         // at least a million; 0: any
	Lengths    map[ingest.Length]int // the filters of ingest.Lengths, and all
}

// Popular is the least number of views of a video in Counts.Views.
const Popular = 1_000_000

// Recent are the ages in Counts.Published: a day and a week.
var Recent = []time.Duration{24 * time.Hour, 7 * 24 * time.Hour}

// maxTallied limits counting: counting four times as many videos took 42 % of the time of a search page. A variable,
// so that a test can make it apply to a small store.
var maxTallied = 1000

// readTallied counts the videos in ?1.
const readTallied = `
SELECT facts.id, category, coalesce(published_at, 0), duration_s, coalesce(views, -1), seen_at
FROM json_each(?1) AS given CROSS JOIN video_facts AS facts ON facts.id = CAST(given.value AS bigint)
	JOIN video_latest AS latest ON latest.id = facts.id`

// tally counts all that the choice's words find, whatever the filters. shown is the number of videos on the page.
func (x *index) tally(ctx context.Context, chosen choice, shown int) (*Counts, error) {
	c := &Counts{Regions: map[ingest.Region]int{}, Categories: map[string]int{}, Published: map[time.Duration]int{},
		Views: map[int64]int{}, Lengths: map[ingest.Length]int{}}
	all, err := x.unfiltered(ctx, chosen)
	if err != nil {
		return nil, err
	}
	ids := all.ids[:min(len(all.ids), maxTallied)]
	c.AtLeast = all.capped || len(ids) < len(all.ids)
	charted := map[ingest.Region]regionCharts{}
	keys, err := column[ingest.Region](ctx, x.tx, `
		SELECT DISTINCT key FROM series WHERE backfill IS NULL AND key <> ''
		AND EXISTS (SELECT 1 FROM video_blocks AS b WHERE b.id >= series.id * 4294967296
			AND b.id < (series.id + 1) * 4294967296) ORDER BY key`)
	for _, key := range keys {
		if err == nil {
			charted[key], err = x.regionCharts(ctx, key)
		}
	}
	if err != nil {
		return nil, err
	}
	if err := each(ctx, x.tx, func(rows *sql.Rows) error {
		var id, views, length int64
		var category string
		var published, seen time.Time
		if err := rows.Scan(&id, &category, inSeconds(&published), &length, &views, inMillis(&seen)); err != nil {
			return err
		}
		c.count(x.q, id, category, published, seen, time.Duration(length)*time.Second, views, charted)
		return nil
	}, readTallied, listJSON(ids)); err != nil {
		return nil, err
	}
	if c.AtLeast {
		c.atLeast(shown, x.q)
	}
	return c, nil
}

// atLeast raises the counts of the chosen filters, and of each left out, to the number of videos that are shown: they
// may be older than all that were counted.
func (c *Counts) atLeast(shown int, q SearchQuery) {
	all := ingest.Length{}
	c.Matches, c.Published[0], c.Views[0], c.Lengths[all] = max(c.Matches, shown), max(c.Published[0], shown),
		max(c.Views[0], shown), max(c.Lengths[all], shown)
	for _, region := range []ingest.Region{"", q.Region} {
		c.Regions[region] = max(c.Regions[region], shown)
	}
	for _, category := range []string{"", q.Category} {
		c.Categories[category] = max(c.Categories[category], shown)
	}
}

// unfiltered returns all matches of the choice's words, or more than are counted.
func (x *index) unfiltered(ctx context.Context, c choice) (matches, error) {
	if c.reading == theVideo || x.q.Region == "" && c.reading != inNames {
		return c.matches, nil
	}
	everywhere := *x
	everywhere.q.Region, everywhere.walked = "", map[string]matches{}
	return everywhere.find(ctx, c.query, c.reading == butOneWord, maxTallied)
}

// count counts a video for each filter if it passes all the others.
func (c *Counts) count(q SearchQuery, id int64, category string, published, seen time.Time,
	length time.Duration, views int64, charted map[ingest.Region]regionCharts) {
	in := q.Region == "" || charted[q.Region].mayContain(id)
	sameCategory := q.Category == "" || q.Category == category
	popular := q.MinViews == 0 || views >= q.MinViews // hidden views are below 0
	recent := (q.PublishedSince.IsZero() || !published.Before(q.PublishedSince)) &&
		(q.PublishedUntil.IsZero() || published.Before(q.PublishedUntil))
	if !q.SeenSince.IsZero() && seen.Before(q.SeenSince) {
		return
	}
	fits := q.Length.Contains(length)
	if in && sameCategory && popular && recent && fits {
		c.Matches++
	}
	if sameCategory && popular && recent && fits {
		c.Regions[""]++
		for region, charts := range charted {
			if charts.mayContain(id) {
				c.Regions[region]++
			}
		}
	}
	if in && popular && recent && fits {
		c.Categories[""]++
		c.Categories[category]++
	}
	if in && sameCategory && popular && fits {
		for _, d := range append(slices.Clone(Recent), 0) {
			if d == 0 || !published.Before(q.At.Add(-d)) {
				c.Published[d]++
			}
		}
	}
	if in && sameCategory && recent && fits {
		for _, least := range []int64{0, Popular} {
			if least == 0 || views >= least {
				c.Views[least]++
			}
		}
	}
	if in && sameCategory && popular && recent {
		for _, l := range append(slices.Clone(ingest.Lengths), ingest.Length{}) {
			if l.Contains(length) {
				c.Lengths[l]++
			}
		}
	}
}
