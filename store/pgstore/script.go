package pgstore

import (
	"context"
	"database/sql"
)

// script runs several statements as they stand, which no argument and no translation may touch.
func script(ctx context.Context, tx *sql.Tx, statements string) error {
	_, err := tx.ExecContext(ctx, asIs+statements)
	return err
}

// asIs begins what is not translated.
const asIs = "-- as it is\n"
