package store

import (
	"context"
	"errors"
	"fmt"
	"os"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// A disk that is mounted read-only, and a directory that may not be written, have no place for the -shm file
// through which SQLite's readers and writers know of each other. Where there is no log either, nobody has the
// store open, and it can be read as a file that does not change.

// openToRead connects to a file that is there, and says who it is.
func (s *Store) openToRead(ctx context.Context) (identity, error) {
	if s.read != nil {
		_ = s.read.Close()
	}
	var err error
	if s.read, err = connect(s.path, readers, s.reading("_query_only=1", fmt.Sprintf("_pragma=cache_size(-%d)", readCache))...); err != nil {
		return identity{}, s.explain(ctx, "open the store", err)
	}
	s.reads = newStatements(s.read)
	return s.identify(ctx)
}

// reading is how a connection for reading is opened.
func (s *Store) reading(more ...string) []string {
	params := append([]string{"mode=ro"}, more...)
	if s.frozen {
		params = append(params, "immutable=1")
	}
	return params
}

// logged reports whether a part of the store may be in its log.
func (s *Store) logged() bool {
	info, err := os.Stat(s.path + "-wal")
	return err == nil && info.Size() > 0 || exists(s.path+"-shm")
}

// isShut reports whether SQLite could not open a file, or could not make the one that it needs beside it.
func isShut(err error) bool {
	var db *sqlite.Error
	if !errors.As(err, &db) {
		return false
	}
	code := db.Code() & 0xff
	return code == sqlite3.SQLITE_CANTOPEN || code == sqlite3.SQLITE_READONLY
}
