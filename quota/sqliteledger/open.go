// Package sqliteledger keeps quota in one SQLite file, quota.db: the default, with no server. Many
// processes may share the file. Every charge is on disk before it is answered: one transaction, one
// fsync.
//
// Writers stand in a queue, a lock on the file quota.db.lock beside the database: SQLite's own busy
// handler sleeps and looks again, and under load one of eight processes finds the file busy for
// seconds each time it wakes.
package sqliteledger

import (
	"context"
	"database/sql"
	_ "embed"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/trendvidstream/ingest/quota"
)

//go:embed schema.sql
var schema string

const (
	applicationID = 0x716c6564 // "qled"
	version       = 1
	busyTimeout   = 5 * time.Second // above what a queue of writers ever needs; then the ledger is hung
)

// Ledger implements quota.Ledger.
type Ledger struct {
	// Now is the ledger's clock. One that stands more than quota.MaxClockGap before the newest entry
	// is not trusted.
	Now func() time.Time

	path   string
	writer *sql.DB
	reader *sql.DB
	queue  *queue
	writes statements
	reads  statements

	spenders map[quota.Who]int64 // only while it is this writer's turn
}

var _ quota.Ledger = (*Ledger)(nil)

// Open opens or makes the ledger in the file at path, mode 0600. Its directory must exist.
func Open(ctx context.Context, path string) (_ *Ledger, err error) {
	l := &Ledger{Now: time.Now, path: path,
		queue:    &queue{lock: flock.New(path+".lock", flock.SetPermissions(0o600)), turn: make(chan struct{}, 1)},
		spenders: map[quota.Who]int64{}}
	if err := touch(path); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = l.Close()
		}
	}()
	// busy_timeout comes first: the pragmas behind it may find the file busy.
	dsn := (&url.URL{Scheme: "file", Opaque: (&url.URL{Path: filepath.ToSlash(path)}).EscapedPath()}).String() +
		fmt.Sprintf("?_pragma=busy_timeout(%d)&_pragma=journal_mode(wal)&_pragma=synchronous(full)", busyTimeout.Milliseconds())
	if l.writer, err = sql.Open("sqlite", dsn+"&_txlock=immediate"); err != nil {
		return nil, l.broken("open", err)
	}
	l.writer.SetMaxOpenConns(1)
	if l.reader, err = sql.Open("sqlite", dsn+"&_pragma=query_only(1)"); err != nil {
		return nil, l.broken("open", err)
	}
	l.reader.SetMaxOpenConns(4)
	if err := l.migrate(ctx); err != nil {
		return nil, err
	}
	err = errors.Join(l.writes.prepare(ctx, l.writer), l.reads.prepare(ctx, l.reader))
	if err != nil {
		return nil, l.broken("prepare", err)
	}
	return l, nil
}

// Close implements quota.Ledger.
func (l *Ledger) Close() error {
	var errs []error
	for _, db := range []*sql.DB{l.reader, l.writer} {
		if db != nil {
			errs = append(errs, db.Close())
		}
	}
	return errors.Join(append(errs, l.queue.lock.Close())...)
}

// touch makes the file, so that it is private from the start.
func touch(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("%w: open %s: %w: check that its directory exists and may be written", quota.ErrUnavailable, path, err)
	}
	return f.Close()
}

func (l *Ledger) migrate(ctx context.Context) error {
	have, err := l.version(ctx, l.reader)
	if err != nil || have == version {
		return err
	}
	leave, err := l.queue.enter(ctx)
	if err != nil {
		return l.broken("lock", err)
	}
	defer leave()
	tx, err := l.writer.BeginTx(ctx, nil)
	if err != nil {
		return l.broken("open", err)
	}
	defer func() { _ = tx.Rollback() }()
	if have, err = l.version(ctx, tx); err != nil || have == version {
		return err // another process was first
	}
	head := fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d;", applicationID, version)
	if _, err := tx.ExecContext(ctx, head+schema); err != nil {
		return l.broken("create the tables of", err)
	}
	if err := tx.Commit(); err != nil {
		return l.broken("create the tables of", err)
	}
	return nil
}

// version is 0 for a file that is still empty.
func (l *Ledger) version(ctx context.Context, db interface {
	QueryRowContext(context.Context, string, ...any) *sql.Row
}) (int, error) {
	var app, have, tables int
	err := db.QueryRowContext(ctx, `SELECT
		(SELECT application_id FROM pragma_application_id),
		(SELECT user_version FROM pragma_user_version),
		(SELECT count(*) FROM sqlite_schema)`).Scan(&app, &have, &tables)
	switch {
	case err != nil:
		return 0, l.broken("read", err)
	case app == 0 && tables == 0:
		return 0, nil
	case app != applicationID:
		return 0, fmt.Errorf("%w: %s is a database of another program: move it away", quota.ErrCorrupt, l.path)
	case have > version:
		return 0, fmt.Errorf("%w: %s has version %d, this program knows %d: use the newer program", quota.ErrNewer, l.path, have, version)
	}
	return have, nil
}

// broken wraps an error of SQLite in the one of package quota that it amounts to.
func (l *Ledger) broken(doing string, err error) error {
	kind := quota.ErrUnavailable
	if e := (*sqlite.Error)(nil); errors.As(err, &e) {
		switch e.Code() & 0xff {
		case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_MISMATCH, sqlite3.SQLITE_CONSTRAINT:
			kind = quota.ErrCorrupt
		}
	}
	return fmt.Errorf("%w: %s %s: %w", kind, doing, l.path, err)
}
