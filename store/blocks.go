package store

import (
	"context"
	"database/sql"
	"maps"
	"math"
	"slices"

	"github.com/trendvidstream/ingest"
)

// The table video_blocks lets a search choose among many matches without reading their videos: see schema.sql.

const (
	// blockOf is how many videos one row covers, and seriesAt the position of the series in its id.
	blockOf  = 2048
	seriesAt = 32
	// levelStep is the difference between two levels, in logarithms of views: the weight of 29 days of freshness in
	// popularity, see keys.
	levelStep = 1.45
	// leastWatched is the number of views of level 1.
	leastWatched = 10
	maxLevel     = 15
)

// levelOf returns how much a video is watched, from 0 for hardly or unknown to maxLevel.
func levelOf(views *int64) byte {
	if views == nil || *views < leastWatched {
		return 0
	}
	return byte(min(1+(math.Log(float64(*views))-math.Log(leastWatched))/levelStep, maxLevel))
}

// viewsAt returns the least views of a level above 0.
func viewsAt(level byte) float64 { return leastWatched * math.Exp(levelStep*float64(level-1)) }

// traitOf returns a video's byte: its level, and four bits of a hash of its category.
func traitOf(views *int64, category string) byte {
	return levelOf(views)<<4 | byte(newHash().texts(category)&15)
}

// blocks are the bytes of a series: the traits of all videos for series 0, otherwise a bit for each video that it may
// have charted.
type blocks map[int64][]byte

// trait returns a video's byte. The video must have existed when the blocks were read.
func (b blocks) trait(id int64) byte {
	return b.block(id / blockOf)[id%blockOf]
}

// block returns the traits of a block's videos: all are 0 if there is no such block.
func (b blocks) block(number int64) []byte {
	if block := b[number]; block != nil {
		return block
	}
	return noTraits[:]
}

var noTraits [blockOf]byte

// has reports whether the series may have charted the video.
func (b blocks) has(id int64) bool {
	block := b[id/blockOf]
	return block != nil && block[id%blockOf/8]&(1<<(id%8)) != 0
}

// byLevel groups videos by level. It leaves out levels below least's level and, unless anyCategory is set, other
// categories than least has.
func (b blocks) byLevel(ids []int64, least byte, anyCategory bool) (levels [maxLevel + 1][]int64) {
	number, block := int64(-1), []byte(nil)
	for _, id := range ids {
		if n := id / blockOf; n != number { // neighbours are in the same block
			number, block = n, b.block(n)
		}
		if trait := block[id%blockOf]; trait>>4 >= least>>4 && (anyCategory || trait&15 == least&15) {
			levels[trait>>4] = append(levels[trait>>4], id)
		}
	}
	return levels
}

// regionCharts are the blocks of the series of a region's charts, or of all regions' charts and of watch lists.
type regionCharts map[int64]blocks

func readRegionCharts(ctx context.Context, q querier, region ingest.Region) (regionCharts, error) {
	return readBlocks(ctx, q, `
		FROM series CROSS JOIN video_blocks AS b ON b.id >= series.id * 4294967296 AND b.id < (series.id + 1) * 4294967296
		WHERE backfill IS NULL AND ?1 IN ('', key)`, region)
}

// of returns the series whose charts may hold the video.
func (r regionCharts) of(video int64) (series []int64) {
	for id, charted := range r {
		if charted.has(video) {
			series = append(series, id)
		}
	}
	return series
}

// mayContain reports whether one of the charts may hold the video.
func (r regionCharts) mayContain(video int64) bool {
	for _, charted := range r {
		if charted.has(video) {
			return true
		}
	}
	return false
}

func readTraits(ctx context.Context, q querier) (blocks, error) {
	all, err := readBlocks(ctx, q, `FROM video_blocks AS b WHERE id < 4294967296`)
	return all[0], err
}

// readBlocks reads rows, by series.
func readBlocks(ctx context.Context, q querier, from string, args ...any) (map[int64]blocks, error) {
	all := map[int64]blocks{}
	return all, each(ctx, q, func(rows *sql.Rows) error {
		var id int64
		var bytes sql.RawBytes
		err := rows.Scan(&id, &bytes)
		series := id >> seriesAt
		if all[series] == nil {
			all[series] = blocks{}
		}
		block := newBlock(series)
		copy(block, bytes) // doctor reports a row that is too short
		all[series][id&(1<<seriesAt-1)] = block
		return err
	}, `SELECT b.id, b.bytes `+from, args...)
}

func newBlock(series int64) []byte {
	if series == 0 {
		return make([]byte, blockOf)
	}
	return make([]byte, blockOf/8)
}

// changeBlocks calls set to change a series' bytes for videos, and writes the changed blocks.
func changeBlocks(ctx context.Context, tx *txn, series int64, videos []int64,
	set func(block []byte, video int64)) error {
	if len(videos) == 0 {
		return nil
	}
	var rows []int64
	for _, id := range videos {
		rows = append(rows, series<<seriesAt+id/blockOf)
	}
	slices.Sort(rows)
	rows = slices.Compact(rows)
	all, err := readBlocks(ctx,
		tx, `FROM video_blocks AS b WHERE id IN (SELECT CAST(value AS bigint) FROM json_each(?1))`, listJSON(rows))
	if err != nil {
		return err
	}
	for _, row := range rows {
		number := row & (1<<seriesAt - 1)
		block := all[series][number]
		if block == nil {
			block = newBlock(series)
		}
		before := slices.Clone(block)
		for _, id := range videos {
			if id/blockOf == number {
				set(block, id)
			}
		}
		if slices.Equal(block, before) {
			continue
		}
		if _, err := tx.ExecContext(ctx, `
			INSERT INTO video_blocks (id, bytes) VALUES (?1, ?2)
			ON CONFLICT (id) DO UPDATE SET bytes = excluded.bytes`, row, block); err != nil {
			return err
		}
	}
	return nil
}

// addCharted records that a series has charted videos. For known videos it only reads a row or two.
func addCharted(ctx context.Context, tx *txn, series int64, videos []int64) error {
	return changeBlocks(ctx, tx, series, videos, func(block []byte, id int64) { block[id%blockOf/8] |= 1 << (id % 8) })
}

// writeTraits sets the bytes of videos.
func writeTraits(ctx context.Context, tx *txn, traits map[int64]byte) error {
	return changeBlocks(ctx, tx, 0, slices.Collect(maps.Keys(traits)),
		func(block []byte, id int64) { block[id%blockOf] = traits[id] })
}

// wrongBlocks returns the videos that a search in a region would miss, by series, and the correct traits of videos
// with wrong ones.
func wrongBlocks(ctx context.Context, q querier) (hidden map[int64][]int64, traits map[int64]byte, err error) {
	have, err := readBlocks(ctx, q, `FROM video_blocks AS b`)
	if err != nil {
		return nil, nil, err
	}
	hidden, traits = map[int64][]int64{}, map[int64]byte{}
	if err := each(ctx, q, func(rows *sql.Rows) error {
		var series, video int64
		err := rows.Scan(&series, &video)
		if !have[series].has(video) {
			hidden[series] = append(hidden[series], video)
		}
		return err
	}, `SELECT series, video FROM placements GROUP BY video, series`); err != nil {
		return nil, nil, err
	}
	return hidden, traits, each(ctx, q, func(rows *sql.Rows) error {
		var id int64
		var views *int64
		var category string
		err := rows.Scan(&id, &views, &category)
		if want := traitOf(views, category); want != have[0].trait(id) {
			traits[id] = want
		}
		return err
	}, `SELECT id, views, category FROM videos`)
}
