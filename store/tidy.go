package store

import (
	"context"
	"database/sql"
	"fmt"
)

// Limits, so that a step holds the write lock for milliseconds.
const (
	tidyMerge   = 200 // pages of the index that a step merges
	tidyPages   = 500 // pages that a step returns to the disk: 2 MiB
	tidySpare   = 4   // a file keeps a quarter of its pages free, to grow into again
	tidyAtMost  = 200 // steps of each kind; the rest waits for the next call
	tidyChanged = 2   // rows: a merge that changed fewer found nothing to do (fts5, section 6.8)
)

// Tidy merges the index and returns long-empty pages to the disk, in steps between which others can write. The rest
// waits for the next call.
func (s *Store) Tidy(ctx context.Context) error {
	if s.engine != nil {
		return nil // an engine tidies itself
	}
	for _, of := range []struct {
		doing string
		step  func(context.Context, *txn) (more bool, err error)
	}{{"merge the index", mergeIndex}, {"give empty pages back", releasePages}} {
		left := tidyAtMost
		err := s.runSteps(ctx, of.doing, func(tx *txn) (bool, error) {
			left--
			more, err := of.step(ctx, tx)
			return more && left > 0, err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// mergeIndex merges a little of the index and reports whether there is more.
// https://www.sqlite.org/fts5.html#the_merge_command
func mergeIndex(ctx context.Context, tx *txn) (more bool, err error) {
	var before, after int64
	if err := tx.QueryRowContext(ctx, `SELECT total_changes()`).Scan(&before); err != nil {
		return false, err
	}
	if _, err := tx.ExecContext(ctx, `INSERT INTO video_text (video_text, rank) VALUES ('merge', ?)`, tidyMerge); err != nil {
		return false, err
	}
	err = tx.QueryRowContext(ctx, `SELECT total_changes()`).Scan(&after)
	return after-before >= tidyChanged, err
}

// releasePages returns a few empty pages to the disk and reports whether there are more than the file should keep.
func releasePages(ctx context.Context, tx *txn) (more bool, err error) {
	var all, free int64
	err = tx.QueryRowContext(ctx, `SELECT page_count, freelist_count FROM pragma_page_count, pragma_freelist_count`).Scan(&all, &free)
	excess := (tidySpare*free - all) / (tidySpare - 1) // leaves the smaller file its share of free pages
	if err != nil || excess <= 0 {
		return false, err
	}
	// Each row returned frees a page, so all must be read.
	err = each(ctx, tx, func(*sql.Rows) error { return nil }, fmt.Sprintf(`PRAGMA incremental_vacuum(%d)`, min(excess, tidyPages)))
	return excess > tidyPages, err
}
