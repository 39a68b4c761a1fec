// Package store keeps charted videos, searchable, and the table of slots, in one SQLite file, ingest.db. It
// implements the interfaces of package fetch without importing it.
//
// Several processes may share a store. Each writes through one connection, in immediate transactions that wait for one
// another; readers never wait. The tables are in schema.sql.
//
// A video is split over two tables, joined by the view videos: most writes only update four numbers of a known video,
// and must not rewrite a row with all its text.
package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/internal/sqlitefile"
)

// Options configure how a store is opened.
type Options struct {
	Upstream string           // host name of the upstream whose data is written; "": any, for readers
	ReadOnly bool             // nothing is written or created
	Existing bool             // nothing is created
	Now      func() time.Time // the default time of a fetch; nil: time.Now

	Hooks map[string][]ingest.EventName // see SetHooks

	// Upgraded, if not nil, is called with the backup's path after an older store was upgraded.
	Upgraded func(from, to int, backup string)
}

// Store is an open store, which several goroutines may use. Open opens a file of SQLite, pgstore.Open a database of
// PostgreSQL.
type Store struct {
	*database
	upstream string
	hooks    map[string][]ingest.EventName // see SetHooks
}

// Open opens the store in dir, and creates both if they are missing; with ReadOnly or Existing a missing store is an
// fs.ErrNotExist. It upgrades an older store after making a backup beside it; with ReadOnly that is a VersionError. It
// refuses a file of another program, a newer version or another upstream, or a damaged one (ApplicationError,
// VersionError, UpstreamError, CorruptError), and then changes and creates nothing.
func Open(ctx context.Context, dir string, o Options) (*Store, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("open the store in %q: %w", dir, err)
	}
	s := &Store{database: newDatabase(dir, o.Now), hooks: o.Hooks}
	if err := sqlitefile.CheckPlace(s.path); err != nil {
		return nil, fmt.Errorf("open the store: %w", err)
	}
	switch info, err := os.Stat(s.path); {
	case err == nil && info.Size() == 0:
		return nil, &CorruptError{Path: s.path, Doing: "open the store", Err: ErrEmpty}
	case err == nil:
	case o.ReadOnly || o.Existing || !os.IsNotExist(err):
		return nil, fmt.Errorf("open the store: %w", err)
	default:
		if err := create(ctx, s.database, o.Upstream); err != nil {
			return nil, err
		}
	}
	if err := s.open(ctx, o); err != nil {
		_ = s.Close()
		return nil, err
	}
	return s, nil
}

// Upstream returns the host whose data the store held when it was opened; "" if nothing had been written to it yet.
func (s *Store) Upstream() string { return s.upstream }

// Path returns the database file's path.
func (s *Store) Path() string { return s.path }

// open connects to an existing file, if it is ours.
func (s *Store) open(ctx context.Context, o Options) error {
	id, err := s.openToRead(ctx)
	if o.ReadOnly && isUnopenable(err) && !sqlitefile.HasLog(s.path) && !sqlitefile.Exists(s.path+"-shm") {
		// A read-only disk or directory has no place for the -shm file that SQLite's processes share. Without a log
		// no process has the store open, and it can be read as an immutable file.
		s.frozen = true
		id, err = s.openToRead(ctx)
	}
	if err != nil {
		return err
	}
	s.upstream = id.upstream
	if s.seen[0], err = os.Stat(s.path); err != nil {
		return fmt.Errorf("open the store: %w", err)
	}
	if id.version < tables.Version() && o.ReadOnly {
		return &VersionError{Path: s.path, Have: id.version, Know: tables.Version()}
	}
	if o.Upstream != "" && id.upstream != "" && id.upstream != o.Upstream {
		return &UpstreamError{Have: id.upstream, Want: o.Upstream, Path: s.path}
	}
	if o.ReadOnly {
		return nil
	}
	if err := s.view(ctx, "open the store for writing",
		func(tx *txn) error { return unwritable(ctx, tx) }); errors.Is(err, errUnwritable) {
		return &CorruptError{Path: s.path, Doing: "open the store for writing", Err: errUnwritable}
	} else if err != nil {
		return err
	}
	if err := s.connectToWrite("_foreign_keys=1", fmt.Sprintf("_pragma=wal_autocheckpoint(%d)", logPages)); err != nil {
		return s.explain(ctx, "open the store for writing", err)
	}
	if id.version < tables.Version() {
		if err := migrate(ctx, s.database, o.Upgraded); err != nil {
			return err
		}
	}
	if id.upstream == "" && o.Upstream != "" {
		return claimFor(ctx, s.database, o.Upstream)
	}
	return nil
}

// openToRead connects to an existing file for reading, and returns its identity.
func (s *Store) openToRead(ctx context.Context) (identity, error) {
	if err := s.connectToRead(); err != nil {
		return identity{}, s.explain(ctx, "open the store", err)
	}
	id, err := viewed(ctx, s.database, "open the store",
		func(tx *txn) (identity, error) { return identify(ctx, tx, s.path, "open the store") })
	if isUnknownFormat(err) {
		err = &CorruptError{Path: s.path, Doing: "open the store", Err: err}
	}
	return id, err
}

// OpenOn opens a store in an engine whose tables exist in this program's version. The store closes the engine; if
// OpenOn fails, it has closed it.
func OpenOn(ctx context.Context, e Engine, o Options) (*Store, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	s := &Store{database: &database{path: e.Name, write: e.Write, read: e.Read, now: o.Now, engine: &e}, hooks: o.Hooks}
	err := s.view(ctx, "open the store", func(tx *txn) error {
		return readNote(ctx, tx, "upstream", &s.upstream)
	})
	switch {
	case err != nil:
	case o.Upstream != "" && s.upstream != "" && s.upstream != o.Upstream:
		err = &UpstreamError{Have: s.upstream, Want: o.Upstream, Path: s.path}
	case o.Upstream != "" && s.upstream == "" && !o.ReadOnly:
		err = claimFor(ctx, s.database, o.Upstream)
	}
	if err != nil {
		_ = s.Close()
		return nil, err
	}
	return s, nil
}

// CheckPlace reads a little as another process would, and returns an error if that finds no store in this one's place:
// an open and cached file does not show that it was replaced or damaged. VersionError: a newer program has upgraded
// it.
func (s *Store) CheckPlace(ctx context.Context) error {
	found := s
	if s.engine == nil {
		if err := s.checkPlace(); err != nil {
			return err
		}
		var err error
		if found, err = Open(ctx, filepath.Dir(s.path), Options{ReadOnly: true}); err != nil {
			return err
		}
		defer func() { _ = found.Close() }()
	}
	return found.view(ctx, "look whether the store can be read", func(tx *txn) error {
		if err := found.checkVersion(ctx, tx); err != nil {
			return err
		}
		var some bool
		return tx.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM slots ORDER BY due_at DESC LIMIT 1)`).Scan(&some)
	})
}

// claimFor records the upstream of a store that has none yet.
func claimFor(ctx context.Context, d *database, upstream string) error {
	return d.tx(ctx, "remember the upstream of the store", func(tx *txn) error {
		var have string
		err := tx.QueryRowContext(ctx, `
			INSERT INTO meta (name, value) VALUES ('upstream', ?)
			ON CONFLICT (name) DO UPDATE SET value = meta.value
			RETURNING value`, upstream).Scan(&have)
		if err == nil && have != upstream {
			return &UpstreamError{Have: have, Want: upstream, Path: d.path}
		}
		return err
	})
}
