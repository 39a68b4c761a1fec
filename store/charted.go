package store

import (
	"context"
	"database/sql"
	"slices"
)

// The table charted_blocks repeats the bits of video_latest.charted, thousands of videos to a row. A search in a region
// among a million videos then reads a hundred rows instead of one per match.

// blockOf is how many ids of videos one row covers: seven rows fit on a page.
const blockOf = 4096

// charted is the set of videos that have one of the bits: by block, a bit for each id.
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

// readCharted reads the rows with the condition; rows for the same block are combined.
func readCharted(ctx context.Context, q querier, where string, args ...any) (charted, error) {
	c := charted{}
	return c, each(ctx, q, func(rows *sql.Rows) error {
		var block int64
		var bits []byte
		err := rows.Scan(&block, &bits)
		if c[block] == nil {
			c[block] = make([]byte, blockOf/8)
		}
		for i, b := range bits[:min(len(bits), blockOf/8)] { // doctor reports a row that has lost some
			c[block][i] |= b
		}
		return err
	}, `SELECT block, bits FROM charted_blocks WHERE `+where, args...)
}

// addCharted gives videos the bit. For a page of videos that all have it, a row or two are read and none is written.
func addCharted(ctx context.Context, tx *txn, bit int64, videos []int64) error {
	var blocks []int64
	for _, id := range videos {
		blocks = append(blocks, id/blockOf)
	}
	slices.Sort(blocks)
	c, err := readCharted(ctx, tx, `bit = ?1 AND block IN (SELECT CAST(value AS bigint) FROM json_each(?2))`, bit, listJSON(slices.Compact(blocks)))
	if err != nil {
		return err
	}
	changed := map[int64]bool{}
	for _, id := range videos {
		if c.set(id) {
			changed[id/blockOf] = true
		}
	}
	for block := range changed {
		if err := writeCharted(ctx, tx, bit, block, c[block]); err != nil {
			return err
		}
	}
	return nil
}

func writeCharted(ctx context.Context, tx *txn, bit, block int64, bits []byte) error {
	_, err := tx.ExecContext(ctx, `
		INSERT INTO charted_blocks (bit, block, bits) VALUES (?1, ?2, ?3)
		ON CONFLICT (bit, block) DO UPDATE SET bits = excluded.bits`, bit, block, bits)
	return err
}

// eachCharted visits the bits as the placements have them, one block after the other.
func eachCharted(ctx context.Context, q querier, visit func(bit, block int64, c charted) error) error {
	var last sql.NullInt64
	if err := q.QueryRowContext(ctx, `SELECT max(video) FROM placements`).Scan(&last); err != nil {
		return err
	}
	for block := range last.Int64/blockOf + 1 {
		of := map[int64]charted{}
		err := each(ctx, q, func(rows *sql.Rows) error {
			var bit, video int64
			err := rows.Scan(&bit, &video)
			if of[bit] == nil {
				of[bit] = charted{}
			}
			of[bit].set(video)
			return err
		}, `SELECT DISTINCT series % 63, video FROM placements WHERE video BETWEEN ? AND ?`, block*blockOf, (block+1)*blockOf-1)
		if err != nil {
			return err
		}
		for bit, c := range of {
			if err := visit(bit, block, c); err != nil {
				return err
			}
		}
	}
	return nil
}

// rewriteCharted writes all rows again, from the placements.
func rewriteCharted(ctx context.Context, tx *txn) error {
	if _, err := tx.ExecContext(ctx, `DELETE FROM charted_blocks`); err != nil {
		return err
	}
	return eachCharted(ctx, tx, func(bit, block int64, c charted) error { return writeCharted(ctx, tx, bit, block, c[block]) })
}

// hidden counts the videos that a search in a region would miss because charted_blocks lacks their bit.
func hidden(ctx context.Context, q querier) (videos int, err error) {
	return videos, eachCharted(ctx, q, func(bit, block int64, want charted) error {
		have, err := readCharted(ctx, q, `bit = ? AND block = ?`, bit, block)
		for id := block * blockOf; id < (block+1)*blockOf; id++ {
			if want.has(id) && !have.has(id) {
				videos++
			}
		}
		return err
	})
}
