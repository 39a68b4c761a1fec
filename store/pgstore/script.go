package pgstore

import (
	"context"
	"database/sql"
)

// script runs several statements as they are, without arguments or translation.
func script(ctx context.Context, tx *sql.Tx, statements string) error {
	_, err := tx.ExecContext(ctx, asIs+statements)
	return err
}

// asIs begins a query that is not translated.
const asIs = "-- as it is\n"
