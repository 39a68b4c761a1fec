package sqliteledger

import (
	"database/sql"
	"errors"
	"fmt"

	sqlite3 "modernc.org/sqlite/lib"

	"github.com/trendvidstream/ingest/internal/sqlitefile"
	"github.com/trendvidstream/ingest/quota"
)

// explain wraps an error of SQLite in the one of package quota that it amounts to, and says what a
// person can do.
func (l *Ledger) explain(doing string, err error) error {
	kind, hint := quota.ErrUnavailable, ""
	switch sqlitefile.Code(err) {
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_MISMATCH, sqlite3.SQLITE_CONSTRAINT:
		kind, hint = quota.ErrCorrupt, ": put its newest copy back, or move it away"
	case sqlite3.SQLITE_FULL:
		hint = ": make room on its disk"
	case sqlite3.SQLITE_IOERR:
		hint = ": is its disk full, or broken?"
	case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM:
		hint = ": check that it and its directory may be written"
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		hint = ": another program holds it open"
	}
	if errors.Is(err, sql.ErrNoRows) {
		kind, hint = quota.ErrCorrupt, ": put its newest copy back, or move it away"
	}
	return fmt.Errorf("%w: %s %s: %w%s", kind, doing, l.path, err, hint)
}
