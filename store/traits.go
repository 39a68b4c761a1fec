package store

import (
	"context"
	"database/sql"
	"math"
	"slices"
)

// The table video_traits lets a search choose among many matches without reading their videos: see schema.sql.

const (
	// traitsBlock is how many ids of videos one row covers.
	traitsBlock = 2048
	// levelStep is the difference between two levels, in logarithms of views: as much as 29 days of freshness weigh in a
	// video's popularity, see keys.
	levelStep = 1.45
	// leastWatched is the number of views of level 1.
	leastWatched = 10
	maxLevel     = 15
)

// levelOf returns how much a video is watched, from 0 for next to nothing, or unknown, to maxLevel.
func levelOf(views *int64) byte {
	if views == nil || *views < leastWatched {
		return 0
	}
	return byte(min(1+(math.Log(float64(*views))-math.Log(leastWatched))/levelStep, maxLevel))
}

// viewsAt returns from how many views on a video has the level, which is above 0.
func viewsAt(level byte) float64 { return leastWatched * math.Exp(levelStep*float64(level-1)) }

// traitOf returns a video's byte: its level, and four bits of a hash of its category.
func traitOf(views *int64, category string) byte {
	return levelOf(views)<<4 | byte(newHash().texts(category)&15)
}

// traits are bytes of videos, by block.
type traits map[int64][]byte

// of returns a video's byte. The video must be one that was there when the traits were read.
func (t traits) of(id int64) byte {
	if block := t[id/traitsBlock]; block != nil {
		return block[id%traitsBlock]
	}
	return 0
}

// set sets a video's byte and reports whether that changes it.
func (t traits) set(id int64, trait byte) bool {
	block := t[id/traitsBlock]
	if block == nil {
		block = make([]byte, traitsBlock)
		t[id/traitsBlock] = block
	}
	changed := block[id%traitsBlock] != trait
	block[id%traitsBlock] = trait
	return changed
}

// level returns the highest level that at least so many of the videos have, or a higher one; 0 if there are fewer.
func (t traits) level(ids []int64, atLeast int) byte {
	var watched [maxLevel + 1]int
	for _, id := range ids {
		watched[t.of(id)>>4]++
	}
	level, n := byte(maxLevel), watched[maxLevel]
	for ; n < atLeast && level > 0; n += watched[level] {
		level--
	}
	return level
}

// having returns those of the videos whose bytes fulfil the condition.
func (t traits) having(ids []int64, condition func(trait byte) bool) (some []int64) {
	for _, id := range ids {
		if condition(t.of(id)) {
			some = append(some, id)
		}
	}
	return some
}

// readTraits reads the rows with the condition.
func readTraits(ctx context.Context, q querier, where string, args ...any) (traits, error) {
	t := traits{}
	return t, each(ctx, q, func(rows *sql.Rows) error {
		var block int64
		var bytes []byte
		err := rows.Scan(&block, &bytes)
		t[block] = make([]byte, traitsBlock)
		copy(t[block], bytes) // doctor reports a row that has lost some
		return err
	}, `SELECT block, traits FROM video_traits WHERE `+where, args...)
}

// writeTraits sets the bytes of videos.
func writeTraits(ctx context.Context, tx *txn, of map[int64]byte) error {
	if len(of) == 0 {
		return nil
	}
	var blocks []int64
	for id := range of {
		blocks = append(blocks, id/traitsBlock)
	}
	slices.Sort(blocks)
	t, err := readTraits(ctx, tx, `block IN (SELECT CAST(value AS bigint) FROM json_each(?1))`, listJSON(slices.Compact(blocks)))
	if err != nil {
		return err
	}
	changed := map[int64]bool{}
	for id, trait := range of {
		if t.set(id, trait) {
			changed[id/traitsBlock] = true
		}
	}
	for block := range changed {
		if _, err := tx.ExecContext(ctx, `
			INSERT INTO video_traits (block, traits) VALUES (?1, ?2)
			ON CONFLICT (block) DO UPDATE SET traits = excluded.traits`, block, t[block]); err != nil {
			return err
		}
	}
	return nil
}

// untrue returns the bytes of the videos for which video_traits has others.
func untrue(ctx context.Context, q querier) (map[int64]byte, error) {
	have, err := readTraits(ctx, q, `true`)
	if err != nil {
		return nil, err
	}
	wrong := map[int64]byte{}
	return wrong, each(ctx, q, func(rows *sql.Rows) error {
		var id int64
		var views *int64
		var category string
		err := rows.Scan(&id, &views, &category)
		if want := traitOf(views, category); want != have.of(id) {
			wrong[id] = want
		}
		return err
	}, `SELECT id, views, category FROM videos`)
}
