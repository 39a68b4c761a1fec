package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/trendvidstream/ingest"
)

// applicationID marks the file as a store of this program: "ingt".
const applicationID = 0x696E6774

// identity is what a file says of itself.
type identity struct {
	version  int
	upstream string // "" when nobody has written to it yet
}

// identify reads who the file is, and refuses what is not ours to read.
func (s *Store) identify(ctx context.Context) (identity, error) {
	var id identity
	err := s.view(ctx, "open the store", func(tx *txn) error {
		var application uint32
		if err := tx.QueryRowContext(ctx, `SELECT application_id, user_version FROM pragma_application_id, pragma_user_version`).
			Scan(&application, &id.version); err != nil {
			return err
		}
		if application != applicationID {
			return &ApplicationError{Path: s.path, ID: application}
		}
		if id.version < 1 {
			return &CorruptError{Path: s.path, Doing: "open the store", Err: fmt.Errorf("the header says that it has version %d, which there is not", id.version)}
		}
		if id.version > version {
			return &VersionError{Path: s.path, Have: id.version, Know: version}
		}
		err := tx.QueryRowContext(ctx, `SELECT value FROM meta WHERE name = 'upstream'`).Scan(&id.upstream)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		return err
	})
	if isFormat(err) {
		return id, &CorruptError{Path: s.path, Doing: "open the store", Err: err}
	}
	return id, err
}

// isFormat reports whether SQLite knows no such file: to queries that are always right it says so by its error for
// any that is wrong.
func isFormat(err error) bool {
	var db *sqlite.Error
	return errors.As(err, &db) && db.Code()&0xff == sqlite3.SQLITE_ERROR
}

// claimFor remembers the upstream of a store that has none yet.
func (s *Store) claimFor(ctx context.Context, upstream string) error {
	return s.tx(ctx, "remember the upstream of the store", func(tx *txn) error {
		var have string
		err := tx.QueryRowContext(ctx, `
			INSERT INTO meta (name, value) VALUES ('upstream', ?)
			ON CONFLICT (name) DO UPDATE SET value = value
			RETURNING value`, upstream).Scan(&have)
		if err == nil && have != upstream {
			return &UpstreamError{Have: have, Want: upstream, Path: s.path}
		}
		return err
	})
}

// create makes the store and the directories it lies in. The file is built under another name and
// then linked to its own: it is there whole or not at all, and of two processes that create it at the
// same time one finds that it is there.
func (s *Store) create(ctx context.Context, upstream string) (err error) {
	dir := filepath.Dir(s.path)
	made, err := mkdirAll(dir)
	defer func() {
		if err != nil {
			for _, d := range slices.Backward(made) {
				_ = os.Remove(d) // not when another process has put something there
			}
		}
	}()
	if err != nil {
		return fmt.Errorf("make the data directory: %w: give another data directory, or make this one writable", err)
	}
	f, err := os.CreateTemp(dir, FileName+".new-*") // 0600
	if err != nil {
		return fmt.Errorf("create the store: %w: give another data directory, or make this one writable", err)
	}
	draft := f.Name()
	defer func() {
		for _, suffix := range []string{"", "-wal", "-shm", "-journal"} {
			_ = os.Remove(draft + suffix)
		}
	}()
	if err := f.Close(); err != nil {
		return fmt.Errorf("create the store: %w", err)
	}
	if err := s.build(ctx, draft, upstream); err != nil {
		return fmt.Errorf("create the store: %w", err)
	}
	if err := s.moveLeftLog(); err != nil {
		return fmt.Errorf("create the store: %w: move it away", err)
	}
	if err := publish(draft, s.path); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("create the store: %w", err)
	}
	return nil
}

// moveLeftLog gives the log of a store that was deleted without it another name, ingest.db-wal.left-TIME: SQLite
// would write it into the new one. Of a store that another process has just made the file is there before its log.
func (s *Store) moveLeftLog() error {
	at := s.now().UTC().Format("20060102T150405.000Z")
	for _, suffix := range []string{"-shm", "-wal"} {
		if !exists(s.path+suffix) || exists(s.path) {
			continue
		}
		if err := os.Rename(s.path+suffix, s.path+suffix+".left-"+at); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// build writes an empty store, complete and in WAL mode, into the file draft.
func (s *Store) build(ctx context.Context, draft, upstream string) error {
	// auto_vacuum can be chosen for an empty file only; Tidy uses it.
	db, err := connect(draft, 1, "mode=rw", "_auto_vacuum=INCREMENTAL", "_synchronous=FULL", "_journal_mode=WAL", "_txlock=immediate")
	if err != nil {
		return err
	}
	b := Store{path: s.path, write: db}
	err = b.tx(ctx, "write the tables", func(tx *txn) error {
		for _, q := range []string{
			ingest.Schema,
			fmt.Sprintf(`PRAGMA application_id = %d`, applicationID),
			fmt.Sprintf(`PRAGMA user_version = %d`, version),
		} {
			if _, err := tx.ExecContext(ctx, q); err != nil {
				return err
			}
		}
		if upstream == "" {
			return nil
		}
		_, err := tx.ExecContext(ctx, `INSERT INTO meta (name, value) VALUES ('upstream', ?)`, upstream)
		return err
	})
	return errors.Join(err, db.Close())
}

// publish gives the draft its name, which must be free: else it is an fs.ErrExist.
func publish(draft, path string) error {
	err := os.Link(draft, path)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		// A file system without hard links: the name is free, or was a moment ago.
		if _, statErr := os.Stat(path); os.IsNotExist(statErr) {
			err = os.Rename(draft, path)
		}
	}
	if err != nil {
		return err
	}
	syncDir(filepath.Dir(path))
	return nil
}

// syncDir writes the names in a directory to the disk: a new one, too, must survive a power cut.
func syncDir(dir string) {
	if d, err := os.Open(dir); err == nil {
		_ = d.Sync()
		_ = d.Close()
	}
}

// mkdirAll makes dir and its missing parents, for the user alone, and returns those it made.
func mkdirAll(dir string) (made []string, err error) {
	var missing []string
	for d := dir; ; d = filepath.Dir(d) {
		if _, err := os.Stat(d); !os.IsNotExist(err) || d == filepath.Dir(d) {
			break
		}
		missing = append(missing, d)
	}
	for _, d := range slices.Backward(missing) {
		switch err := os.Mkdir(d, 0o700); {
		case err == nil:
			made = append(made, d)
		case !os.IsExist(err):
			return made, err
		}
	}
	if info, err := os.Stat(dir); err != nil {
		return made, err
	} else if !info.IsDir() {
		return made, &fs.PathError{Op: "mkdir", Path: dir, Err: errors.New("is a file")}
	}
	return made, nil
}
