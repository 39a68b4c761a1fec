package sqliteledger

import "context"

// Fsync says whether a charge is to be on disk before it is answered, as it is unless told so here.
// Without, what remains is what the ledger itself costs.
func (l *Ledger) Fsync(ctx context.Context, on bool) error {
	pragma := "PRAGMA synchronous = off"
	if on {
		pragma = "PRAGMA synchronous = full"
	}
	_, err := l.writer.conn.ExecContext(ctx, pragma)
	return err
}
