// Package sqliteledger keeps quota in one SQLite file, quota.db: the default, without a server. Many processes may
// share the file. Every charge is on disk before it is answered: one transaction, one fsync.
//
// Writers wait in a queue of file locks beside the database. SQLite's own busy handler sleeps and retries instead, and
// under load one of eight processes finds the file busy for seconds.
package sqliteledger

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/trendvidstream/ingest/internal/ownfile"
	"github.com/trendvidstream/ingest/internal/sqlitefile"
	"github.com/trendvidstream/ingest/quota"
)

//go:embed schema.sql
var tables string

// schema is the schema of quota.db. A step for version 2 would need no other change here.
var schema = sqlitefile.Schema{Application: 0x716c6564, Tables: tables} // "qled"

// Ledger implements quota.Ledger and quota.EmergencyAccount, and the sharedledger.Journal of its data directory. This
// package imports sharedledger for the types of Journal.
type Ledger struct {
	// Now is the ledger's clock. It is not trusted if it is more than quota.MaxClockGap before the newest entry.
	Now func() time.Time

	path     string
	file     os.FileInfo // the open file
	queue    *queue
	writer   *session // used in the queue's turn
	reader   *session // guarded by reading
	reading  sync.Mutex
	restored int64 // the mark's count when the file was opened

	// Only while it is this writer's turn:
	spenders map[quota.Who]int64
	notes    int // of this process, for forgetNotesEvery
}

// Open opens or creates the ledger in the file at path, mode 0600, in an existing directory. A file of another
// program, or of a newer version, is not touched.
func Open(ctx context.Context, path string) (_ *Ledger, err error) {
	l := &Ledger{Now: time.Now, path: path, spenders: map[quota.Who]int64{}}
	have := 0
	if err := sqlitefile.CheckPlace(path); err != nil {
		return nil, fmt.Errorf("%w: %w", quota.ErrUnavailable, err)
	}
	if info, err := os.Stat(path); err == nil && info.Size() > 0 {
		if have, err = l.identify(ctx); err != nil {
			return nil, err
		}
	}
	if l.queue, err = openQueue(path); err != nil {
		return nil, fmt.Errorf("%w: %s: %w: check that its directory exists and may be written",
			quota.ErrUnavailable, path, err)
	}
	defer func() {
		if err != nil {
			_ = l.Close()
		}
	}()
	if have < schema.Version() {
		if err := l.migrate(ctx); err != nil {
			return nil, err
		}
	}
	// Writers wait in the queue and in its begin, not in SQLite.
	if l.writer, err = openSession(path, "_pragma=busy_timeout(0)", "_pragma=synchronous(full)",
		"_pragma=wal_autocheckpoint(0)"); err != nil {
		return nil, l.explain("open", err)
	}
	if l.reader, err = openSession(path, patiently, "_pragma=query_only(1)"); err != nil {
		return nil, l.explain("open", err)
	}
	if err = l.accept(ctx); err != nil {
		return nil, err
	}
	return l, nil
}

// patiently sets the busy time-out of connections that do not wait in the queue.
var patiently = fmt.Sprintf("_pragma=busy_timeout(%d)", busyTimeout.Milliseconds())

// Close implements quota.Ledger.
func (l *Ledger) Close() error {
	if l.queue == nil {
		return nil
	}
	return errors.Join(l.closeSessions(), l.queue.close())
}

// touch creates a file, private from the start.
func touch(path string) error {
	f, err := ownfile.Open(path, os.O_RDWR|os.O_CREATE)
	if err != nil {
		return err
	}
	return f.Close()
}

// identify returns the file's version, if the file is ours.
func (l *Ledger) identify(ctx context.Context) (int, error) {
	db, err := sqlitefile.Open(l.path, 1, patiently, "mode=ro")
	if err != nil {
		return 0, l.explain("open", err)
	}
	defer func() { _ = db.Close() }()
	return l.version(ctx, db)
}

// migrate creates the tables in an empty file, or upgrades an older one. If several processes open an old file, one
// migrates it and the others wait.
func (l *Ledger) migrate(ctx context.Context) error {
	if err := l.queue.enter(ctx, l.queue.giveUpAt()); err != nil {
		return l.explain("wait for", err)
	}
	defer l.queue.leave()
	if marked := l.queue.readMark().writes > 0; marked && !sqlitefile.Exists(l.path) {
		return fmt.Errorf("%w: %w: put %s back (%s shows that it existed), or recount with ingest quota rebuild",
			quota.ErrUnavailable, quota.ErrMissing, l.path, sqlitefile.LockPath(l.path))
	} else if info, err := os.Stat(l.path); marked && (err != nil || info.Size() == 0) {
		return &DamagedError{l.path, errors.New("it is empty")}
	}
	if info, err := os.Stat(l.path); err == nil && info.Size() > 0 {
		return l.checkpoint(func() error { return l.makeTables(ctx, l.path) })
	}
	return l.checkpoint(func() error { return l.create(ctx) })
}

// create makes the file under another name, and renames it when it is complete: a process killed meanwhile leaves
// nothing for the next one to finish. The caller has the turn.
func (l *Ledger) create(ctx context.Context) (err error) {
	draft := l.path + ".draft" // also one that a killed process left
	defer func() { err = errors.Join(err, sqlitefile.Remove(draft)) }()
	if err := errors.Join(sqlitefile.Remove(draft), touch(draft)); err != nil {
		return fmt.Errorf("%w: %w: check that its directory exists and may be written", quota.ErrUnavailable, err)
	}
	if err := l.makeTables(ctx, draft); err != nil {
		return err
	}
	// SQLite would replay files left by an earlier file of that name.
	if err := errors.Join(sqlitefile.RemoveBeside(l.path), os.Rename(draft, l.path)); err != nil {
		return fmt.Errorf("%w: %w: check that its directory may be written", quota.ErrUnavailable, err)
	}
	sqlitefile.SyncDir(filepath.Dir(l.path))
	return nil
}

// makeTables is one transaction on the file at path. It backs up an older file first.
func (l *Ledger) makeTables(ctx context.Context, path string) error {
	db, err := sqlitefile.Open(path, 1, patiently, "_txlock=immediate")
	if err != nil {
		return l.explain("open", err)
	}
	defer func() { _ = db.Close() }()
	// The journal mode is stored in the file. It cannot be changed within a transaction.
	if _, err := db.ExecContext(ctx, "PRAGMA journal_mode = wal"); err != nil {
		return l.explain("create the tables of", err)
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return l.explain("open", err)
	}
	defer func() { _ = tx.Rollback() }()
	have, err := l.version(ctx, tx)
	if err != nil || have == schema.Version() {
		return err // another process was first
	}
	if have == 0 {
		err = schema.Create(ctx, tx)
	} else {
		backup := sqlitefile.BackupPath(path, have, l.Now())
		if err := sqlitefile.Snapshot(ctx, path, backup); err != nil {
			return fmt.Errorf("back it up as %s: %w", backup, err)
		}
		err = schema.Upgrade(ctx, tx, have)
	}
	if err == nil {
		err = tx.Commit()
	}
	if err != nil {
		return l.explain("create the tables of", err)
	}
	return nil
}

// version returns the version of the file; 0 if it is still empty.
func (l *Ledger) version(ctx context.Context, db sqlitefile.Querier) (int, error) {
	var app, have, tables int
	err := db.QueryRowContext(ctx, `SELECT
		(SELECT application_id FROM pragma_application_id),
		(SELECT user_version FROM pragma_user_version),
		(SELECT count(*) FROM sqlite_schema)`).Scan(&app, &have, &tables)
	switch {
	case err != nil:
		return 0, l.explain("read", err)
	case app == 0 && tables == 0:
		return 0, nil
	case app != schema.Application:
		return 0, &DamagedError{l.path, errors.New("it is another program's database")}
	case have < 1 || have > schema.Version():
		return 0, fmt.Errorf("%w: %s has version %d, and this program knows version %d: "+
			"use the program that made it, or move it away and run ingest quota rebuild",
			quota.ErrNewer, l.path, have, schema.Version())
	}
	object, err := schema.Foreign(ctx, db, have)
	if err != nil {
		return 0, l.explain("read", err)
	}
	if object != "" {
		return 0, &DamagedError{l.path,
			fmt.Errorf("its schema has the %s, which ingest did not create", object)}
	}
	return have, nil
}
