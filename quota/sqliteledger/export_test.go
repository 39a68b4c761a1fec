package sqliteledger

import (
	"context"
	"database/sql"
	"testing"

	"github.com/trendvidstream/ingest/internal/sqlitefile"
	"github.com/trendvidstream/ingest/quota/sharedledger"
)

// Fsync sets whether a charge is on disk before it is answered; the default is true. Without it, the rest is the
// ledger's own cost.
func (l *Ledger) Fsync(_ context.Context, on bool) error {
	pragma := "PRAGMA synchronous = off"
	if on {
		pragma = "PRAGMA synchronous = full"
	}
	_, err := l.writer.exec(pragma)
	return err
}

// OwedHere returns the operations that have to be synced into this file itself: those without a writer.
func (l *Ledger) OwedHere(ctx context.Context, account string) (rows []sharedledger.Row, err error) {
	err = l.read(ctx, func(t *transaction) error { rows, err = t.operations(sqlOwedHere, account); return err })
	return rows, err
}

// OnRow calls do on a row in a transaction that reads, or writes.
func (l *Ledger) OnRow(ctx context.Context, writes bool, do func()) error {
	transact := l.read
	if writes {
		transact = l.write
	}
	return transact(ctx, func(t *transaction) error {
		return t.read(sqlWrites, nil, func(*sql.Rows) error { do(); return nil })
	})
}

// Schema returns the statements that create quota.db.
func Schema() sqlitefile.Schema { return schema }

// SetSchema makes it something else until the test ends.
func SetSchema(t *testing.T, s sqlitefile.Schema) {
	t.Helper()
	was := schema
	t.Cleanup(func() { schema = was })
	schema = s
}

// MarkAhead makes the mark say that the file lacks a write, in a writer's turn, until back is called.
func (l *Ledger) MarkAhead(ctx context.Context) (back func(), err error) {
	if err := l.queue.enter(ctx, l.queue.giveUpAt()); err != nil {
		return nil, err
	}
	m := l.queue.readMark()
	ahead := m
	ahead.writes++
	l.queue.writeMark(ahead)
	return func() { l.queue.writeMark(m); l.queue.leave() }, nil
}
