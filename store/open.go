// Package store is the index: what was charted, searchable, and the table of slots, in one SQLite
// file, ingest.db. It implements what package fetch needs of a store, without knowing it.
//
// Several processes may share a store. One connection of each writes, in immediate transactions that
// wait for one another; others read, and never wait. See schema.sql for what is in it.
//
// A video lies in two tables, which the view videos shows as one: nearly all that is ever written is that a
// known video was seen again, and a row with its texts would be written anew for four numbers.
package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	_ "modernc.org/sqlite" // the driver "sqlite"
)

// FileName is the name of the database file in the data directory.
const FileName = "ingest.db"

const (
	// readers bounds how many connections of this process read at once. Each keeps so many KiB of pages: a
	// search with a filter looks at some thousand all over the file, and SQLite's own 2,000 KiB are read anew
	// by the next one.
	readers   = 4
	readCache = 16_000

	// logPages is how many pages the log has, 16 MB, when they are written to the file. What a schedule writes is
	// much the same pages again and again: SQLite's own 1,000 pages write each of them four times as often.
	logPages = 4000

	// busyWait is how long SQLite waits for another writer by itself; a cancelled context is
	// noticed after it. busyFor is how long a transaction waits in all.
	busyWait = 2 * time.Second
	busyFor  = 20 * time.Second
)

// Options say how a store is opened.
type Options struct {
	Upstream string           // host name of the upstream whose data goes in; "" is any, for readers
	ReadOnly bool             // nothing is written, and nothing created
	Now      func() time.Time // stamps what was fetched where the slot does not say; nil: time.Now

	// Upgraded is told when an older store was brought up to date, and where its backup is; nil: nobody is.
	Upgraded func(from, to int, backup string)
}

// Store is an open store. It may be used from several goroutines.
type Store struct {
	path  string
	write *sql.DB // nil when read-only; one connection
	read  *sql.DB
	now   func() time.Time

	writes, reads *statements // of write and read

	upstream string
	frozen   bool  // on a disk where nobody writes: it is read as it lies
	seen     files // by the first transaction that writes; whoever is in one may change them
}

// Open opens the store in dir, and creates both where they are missing, unless it is to be read only:
// then a missing one is an fs.ErrNotExist. A store of an older version is brought up to date, after a
// backup beside it; read only, it is a VersionError. A file of another program, of a newer version, of another
// upstream, or damaged, is refused (ApplicationError, VersionError, UpstreamError, CorruptError) and
// not touched. Whatever is refused, nothing new is left behind.
func Open(ctx context.Context, dir string, o Options) (*Store, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("open the store in %q: %w", dir, err)
	}
	s := &Store{path: filepath.Join(dir, FileName), now: o.Now}
	if s.now == nil {
		s.now = time.Now
	}
	switch info, err := os.Stat(s.path); {
	case err == nil && info.Size() == 0:
		return nil, &CorruptError{Path: s.path, Doing: "open the store", Err: ErrEmpty}
	case err == nil:
	case o.ReadOnly || !os.IsNotExist(err):
		return nil, fmt.Errorf("open the store: %w", err)
	default:
		if err := s.create(ctx, o.Upstream); err != nil {
			return nil, err
		}
	}
	if err := s.open(ctx, o); err != nil {
		_ = s.Close()
		return nil, err
	}
	return s, nil
}

// Upstream is the host whose data the store held when it was opened; "" when nothing had been
// written to it yet.
func (s *Store) Upstream() string { return s.upstream }

// Path is the database file.
func (s *Store) Path() string { return s.path }

// Close closes the store. The last writer to close folds the write-ahead log into the file.
func (s *Store) Close() error {
	var err error
	for _, db := range []*sql.DB{s.read, s.write} {
		if db != nil {
			if e := db.Close(); e != nil {
				err = s.explain(context.Background(), "close the store", e)
			}
		}
	}
	return err
}

// open connects to a file that is there, once it is known to be ours.
func (s *Store) open(ctx context.Context, o Options) error {
	id, err := s.openToRead(ctx)
	if o.ReadOnly && isShut(err) && !s.logged() {
		s.frozen = true
		id, err = s.openToRead(ctx)
	}
	if err != nil {
		return err
	}
	s.upstream = id.upstream
	if id.version < version && o.ReadOnly {
		return &VersionError{Path: s.path, Have: id.version, Know: version}
	}
	if o.Upstream != "" && id.upstream != "" && id.upstream != o.Upstream {
		return &UpstreamError{Have: id.upstream, Want: o.Upstream, Path: s.path}
	}
	if o.ReadOnly {
		return nil
	}
	if err := s.view(ctx, "open the store for writing", func(tx *txn) error { return unwritable(ctx, tx) }); errors.Is(err, errUnwritable) {
		return &CorruptError{Path: s.path, Doing: "open the store for writing", Err: errUnwritable}
	} else if err != nil {
		return err
	}
	if s.write, err = connect(s.path, 1, "mode=rw", "_txlock=immediate", "_journal_mode=WAL", "_synchronous=FULL", "_foreign_keys=1",
		fmt.Sprintf("_pragma=wal_autocheckpoint(%d)", logPages)); err != nil {
		return s.explain(ctx, "open the store for writing", err)
	}
	s.writes = newStatements(s.write)
	if id.version < version {
		if err := s.migrate(ctx, o.Upgraded); err != nil {
			return err
		}
	}
	if id.upstream == "" && o.Upstream != "" {
		return s.claimFor(ctx, o.Upstream)
	}
	return nil
}

// connect makes a pool of at most n connections to the file. The file: form of a name is the only one
// in which SQLite heeds mode, and in which a path may hold any character, escaped. Nothing is opened
// before the first query.
func connect(path string, n int, params ...string) (*sql.DB, error) {
	slashed := filepath.ToSlash(path)
	if !strings.HasPrefix(slashed, "/") {
		slashed = "/" + slashed // file:///C:/...
	}
	name := url.URL{Scheme: "file", Path: slashed}
	params = append(params, fmt.Sprintf("_busy_timeout=%d", busyWait.Milliseconds()), "_dqs=0", "_error_rc=1")
	db, err := sql.Open("sqlite", name.String()+"?"+strings.Join(params, "&"))
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	db.SetMaxOpenConns(n)
	db.SetMaxIdleConns(n)
	return db, nil
}

// tx runs f in one immediate transaction; doing is for the error. It waits for other writers before f
// begins, so that f never has to be run twice.
func (s *Store) tx(ctx context.Context, doing string, f func(*txn) error) error {
	if s.write == nil {
		return fmt.Errorf("%s: %s: %w", doing, s.path, ErrReadOnly)
	}
	tx, err := s.begin(ctx)
	if err != nil {
		return s.explain(ctx, doing, err)
	}
	defer s.writes.prepare(ctx) // behind the end of tx
	defer func() { _ = tx.Rollback() }()
	if err := f(tx); err != nil {
		return s.explain(ctx, doing, err)
	}
	return s.explain(ctx, doing, tx.Commit())
}

func (s *Store) begin(ctx context.Context) (*txn, error) { return s.beginWithin(ctx, busyFor) }

func (s *Store) beginWithin(ctx context.Context, patience time.Duration) (*txn, error) {
	for began := time.Now(); ; {
		tx, err := s.write.BeginTx(ctx, nil)
		if err == nil {
			if err := s.watch(ctx, tx); err != nil {
				_ = tx.Rollback()
				return nil, err
			}
			return s.writes.begin(tx), nil
		}
		if !isBusy(err) || ctx.Err() != nil || time.Since(began) > patience {
			return nil, err
		}
	}
}

// view runs f over one unchanging state of the store.
func (s *Store) view(ctx context.Context, doing string, f func(*txn) error) error {
	tx, err := s.read.BeginTx(ctx, nil)
	if err != nil {
		return s.explain(ctx, doing, err)
	}
	defer s.reads.prepare(ctx) // behind the end of tx
	defer func() { _ = tx.Rollback() }()
	return s.explain(ctx, doing, f(s.reads.begin(tx)))
}
