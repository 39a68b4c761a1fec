package store

import (
	"context"
	"database/sql"
	"time"

	"github.com/trendvidstream/ingest"
)

// repairStep is how many rows of the index a transaction writes, so that others wait for milliseconds.
const repairStep = 200

// reindexAll writes the index row of every video.
func reindexAll(ctx context.Context, tx *txn) error {
	for last, more := int64(0), true; more; {
		ids, err := column[int64](ctx, tx, `SELECT id FROM videos WHERE id > ? ORDER BY id LIMIT ?`, last, repairStep)
		if err != nil {
			return err
		}
		if err := rewriteIndex(ctx, tx, ids); err != nil {
			return err
		}
		if more = len(ids) == repairStep; more {
			last = ids[len(ids)-1]
		}
	}
	return nil
}

// rewriteIndex writes the videos' rows of the index, and the hash of the text that they have.
func rewriteIndex(ctx context.Context, tx *txn, ids []int64) error {
	videos, err := newVideoWriter(ctx, tx, time.Time{}, nil)
	if err != nil {
		return err
	}
	for _, id := range ids {
		var v ingest.Video
		err := each(ctx, tx, func(rows *sql.Rows) (err error) {
			v, err = scanVideo(rows)
			return err
		}, `SELECT `+videoColumns+` FROM videos LEFT JOIN channels ON channels.id = videos.channel WHERE videos.id = ?`, id)
		if err != nil {
			return err
		}
		// A name without a channel to keep it with is known to the hash alone: it stays.
		if _, err := tx.ExecContext(ctx, `UPDATE video_facts SET text_hash = ? WHERE id = ? AND channel IS NOT NULL`, textHash(v), id); err != nil {
			return err
		}
		videos.index(id, v)
	}
	return videos.flush(ctx)
}
