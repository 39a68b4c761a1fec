package pgstore

import (
	"context"
	"database/sql"
	"fmt"
)

// numbered are the tables with generated ids.
var numbered = []string{"backfills", "series", "slots", "channels", "video_facts"}

// lastBackfill returns the highest backfill ID ever assigned.
func lastBackfill(ctx context.Context, tx *sql.Tx) (last int64, err error) {
	err = tx.QueryRowContext(ctx,
		`SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM backfills_id_seq`).Scan(&last)
	return last, err
}

// advanceSequences moves the sequences past rows inserted with their ids, and updates the planner's statistics.
func advanceSequences(ctx context.Context, tx *sql.Tx, last int64) error {
	for _, table := range numbered {
		query := fmt.Sprintf( //nolint:gosec // names of numbered
			`
			SELECT setval(pg_get_serial_sequence('%[1]s', 'id'), greatest(n, 1), n > 0)
			FROM (SELECT greatest(coalesce(max(id), 0), CASE WHEN '%[1]s' = 'backfills' THEN ? ELSE 0 END) AS n
				FROM %[1]s) AS highest`, table)
		if _, err := tx.ExecContext(ctx, query, last); err != nil {
			return err
		}
	}
	_, err := tx.ExecContext(ctx, `ANALYZE`)
	return err
}
