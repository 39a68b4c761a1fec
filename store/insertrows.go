package store

import (
	"context"
	"slices"
	"strings"
)

// insertSizes are how many rows a statement writes. Few sizes, so that their statements stay prepared; the
// first is a page of the upstream's.
var insertSizes = []int{50, 10, 1}

// insertRows writes the rows, all of one length, as few statements as may be: a row of a statement costs half
// of what a row in a statement of its own does. head ends with VALUES, and tail comes behind the rows.
func insertRows(ctx context.Context, tx *txn, head, tail string, rows [][]any) error {
	for _, size := range insertSizes {
		for ; len(rows) >= size; rows = rows[size:] {
			row := ", (?" + strings.Repeat(", ?", len(rows[0])-1) + ")"
			query := head + strings.Repeat(row, size)[1:] + tail
			if _, err := tx.ExecContext(ctx, query, slices.Concat(rows[:size]...)...); err != nil {
				return err
			}
		}
	}
	return nil
}
