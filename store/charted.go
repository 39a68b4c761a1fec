package store

import (
	"context"
	"database/sql"
	"maps"
	"slices"

	"github.com/trendvidstream/ingest"
)

// The table charted_blocks says which videos the charts of a series may hold: see schema.sql.

const (
	// blockOf is how many ids of videos one row covers: seven rows fit on a page.
	blockOf = 4096
	// remainders is how many sets of videos there are: series share one if their ids leave the same remainder.
	remainders = 63
)

// charted is a set of videos: by block, a bit for each id.
type charted map[int64][]byte

func (c charted) has(id int64) bool {
	bits := c[id/blockOf]
	return bits != nil && bits[id%blockOf/8]&(1<<(id%8)) != 0
}

// set adds a video and reports whether it is new.
func (c charted) set(id int64) bool {
	if c.has(id) {
		return false
	}
	if c[id/blockOf] == nil {
		c[id/blockOf] = make([]byte, blockOf/8)
	}
	c[id/blockOf][id%blockOf/8] |= 1 << (id % 8)
	return true
}

// chartedSets are sets by the remainder of the series that share them.
type chartedSets map[int64]charted

// readCharted reads the rows with the condition.
func readCharted(ctx context.Context, q querier, where string, args ...any) (chartedSets, error) {
	sets := chartedSets{}
	return sets, each(ctx, q, func(rows *sql.Rows) error {
		var remainder, block int64
		var bits []byte
		err := rows.Scan(&remainder, &block, &bits)
		if sets[remainder] == nil {
			sets[remainder] = charted{}
		}
		whole := make([]byte, blockOf/8)
		copy(whole, bits) // doctor reports a row that has lost some
		sets[remainder][block] = whole
		return err
	}, `SELECT remainder, block, bits FROM charted_blocks WHERE `+where, args...)
}

// regionCharts are the series of a region's charts, or of all regions' charts, and the sets of what they may hold.
type regionCharts struct {
	series map[int64][]int64 // by remainder
	sets   chartedSets
}

func readRegionCharts(ctx context.Context, q querier, region ingest.Region) (*regionCharts, error) {
	r := &regionCharts{series: map[int64][]int64{}}
	ids, err := column[int64](ctx, q, `SELECT id FROM series WHERE backfill IS NULL AND key <> '' AND ?1 IN ('', key) ORDER BY id`, region)
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		r.series[id%remainders] = append(r.series[id%remainders], id)
	}
	r.sets, err = readCharted(ctx, q, `remainder IN (SELECT CAST(value AS bigint) FROM json_each(?1))`, listJSON(slices.Collect(maps.Keys(r.series))))
	return r, err
}

// of returns the series whose charts may hold the video.
func (r *regionCharts) of(video int64) (series []int64) {
	for remainder, set := range r.sets {
		if set.has(video) {
			series = append(series, r.series[remainder]...)
		}
	}
	return series
}

// mayHold reports whether one of the charts may hold the video.
func (r *regionCharts) mayHold(video int64) bool {
	for _, set := range r.sets {
		if set.has(video) {
			return true
		}
	}
	return false
}

// addCharted adds videos to the set of the series with this remainder. For a page of videos that are all in it, a row or two are read and none
// is written.
func addCharted(ctx context.Context, tx *txn, remainder int64, videos []int64) error {
	var blocks []int64
	for _, id := range videos {
		blocks = append(blocks, id/blockOf)
	}
	slices.Sort(blocks)
	sets, err := readCharted(ctx, tx, `remainder = ?1 AND block IN (SELECT CAST(value AS bigint) FROM json_each(?2))`, remainder, listJSON(slices.Compact(blocks)))
	if err != nil {
		return err
	}
	c := sets[remainder]
	if c == nil {
		c = charted{}
	}
	changed := map[int64]bool{}
	for _, id := range videos {
		if c.set(id) {
			changed[id/blockOf] = true
		}
	}
	for block := range changed {
		if _, err := tx.ExecContext(ctx, `
			INSERT INTO charted_blocks (remainder, block, bits) VALUES (?1, ?2, ?3)
			ON CONFLICT (remainder, block) DO UPDATE SET bits = excluded.bits`, remainder, block, c[block]); err != nil {
			return err
		}
	}
	return nil
}

// hidden returns the videos that a search in a region would miss because charted_blocks lacks them, by remainder.
func hidden(ctx context.Context, q querier) (map[int64][]int64, error) {
	have, err := readCharted(ctx, q, `true`)
	if err != nil {
		return nil, err
	}
	missing := map[int64][]int64{}
	return missing, each(ctx, q, func(rows *sql.Rows) error {
		var series, video int64
		err := rows.Scan(&series, &video)
		if remainder := series % remainders; !have[remainder].has(video) {
			missing[remainder] = append(missing[remainder], video)
		}
		return err
	}, `SELECT series, video FROM placements GROUP BY video, series`)
}
