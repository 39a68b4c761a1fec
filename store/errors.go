package store

import (
	"context"
	"errors"
	"fmt"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/trendvidstream/ingest/internal/sqlitefile"
)

// Answers, rather than failures: no chart of the region is stored, or no such video.
var (
	ErrNoChart = errors.New("no chart is stored")
	ErrNoVideo = errors.New("the store has no such video")
)

// VersionError means that a store has another schema version than the program.
type VersionError struct {
	Path       string
	Have, Know int // the file's version, and the one that this program reads and writes
}

func (e *VersionError) Error() string {
	if e.Have > e.Know {
		return fmt.Sprintf("%s has version %d, this program knows version %d: "+
			"use the newer program that wrote it, or move it away and begin a new store: ingest run --accept-new-store",
			e.Path, e.Have, e.Know)
	}
	return fmt.Sprintf("%s has the older version %d, this program reads version %d: "+
		"run ingest run once, which brings it up to date",
		e.Path, e.Have, e.Know)
}

// Cause is the name of the cause in the table of standing.
func (e *VersionError) Cause() string {
	if e.Have > e.Know {
		return "newer program"
	}
	return "other store"
}

// ApplicationError means that some other program wrote the file.
type ApplicationError struct {
	Path string
	ID   uint32 // the file's application_id
}

func (e *ApplicationError) Error() string {
	return fmt.Sprintf("%s is not a store of ingest (application id %#x): move it away, or give another data directory",
		e.Path, e.ID)
}

// UpstreamError means that a store holds another upstream's data.
type UpstreamError struct {
	Have, Want string // host names
	Path       string
}

func (e *UpstreamError) Error() string {
	return fmt.Sprintf("%s holds data of %s and takes none of %s: give another data directory for that",
		e.Path, e.Have, e.Want)
}

// Cause is as of VersionError.
func (*UpstreamError) Cause() string { return "other store" }

// CorruptError means that a file is damaged, or not a database at all.
type CorruptError struct {
	Path  string
	Doing string
	Err   error
}

// Remedy names the trouble and the cure.
func (e *CorruptError) Remedy() (wrong, advice string) {
	return "the store is damaged", "save the readable rows with ingest doctor --repair, or restore a backup"
}

func (e *CorruptError) Error() string {
	return fmt.Sprintf("%s: %s is damaged or is no database: "+
		"run ingest doctor --repair, which saves the readable rows, or restore a backup: %v", e.Doing, e.Path, e.Err)
}

func (e *CorruptError) Unwrap() error { return e.Err }

// ErrReadOnly is returned for a write to a store opened for reading.
var ErrReadOnly = errors.New("the store was opened for reading only")

// hints say what to try, by SQLite's primary result code. https://www.sqlite.org/rescode.html
var hints = map[int]string{
	sqlite3.SQLITE_BUSY: "another process has held it for too long: see which ingest commands are running",
	sqlite3.SQLITE_READONLY: "it cannot be written: check the owner and the mode of the file and its directory, " +
		"and whether the disk is mounted read-only",
	sqlite3.SQLITE_PERM: "it may not be opened: check the owner and the mode of the file and its directory",
	sqlite3.SQLITE_CANTOPEN: "it cannot be opened, or SQLite's files beside it cannot be made: " +
		"check the owner and the mode of the file and its directory, and whether the disk is mounted read-only",
	sqlite3.SQLITE_IOERR: "the disk did not read or write it: check the space left and the system's log",
}

// explain adds to err the operation and, for errors of SQLite, the file and a hint.
func explain(ctx context.Context, path, doing string, err error) error {
	if err == nil {
		return nil
	}
	var db *sqlite.Error
	if !errors.As(err, &db) {
		return fmt.Errorf("%s: %w", doing, err)
	}
	code := sqlitefile.Code(err)
	switch code {
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
		return &CorruptError{Path: path, Doing: doing, Err: err}
	case sqlite3.SQLITE_FULL:
		return fmt.Errorf("%s: %w", doing, &sqlitefile.NoRoomError{Path: path, Err: err})
	case sqlite3.SQLITE_INTERRUPT:
		if ctx.Err() != nil {
			return fmt.Errorf("%s: %w", doing, context.Cause(ctx))
		}
	}
	if db.Code() == sqlite3.SQLITE_IOERR_SHORT_READ {
		return fmt.Errorf("%s: %s: a part of it is gone, as when ingest.db-wal is deleted while ingest runs: "+
			"stop ingest serve and every other ingest process, then run ingest doctor --repair; "+
			"the next runs fetch the lost data again: %w", doing, path, err)
	}
	if hint := hints[code]; hint != "" {
		return fmt.Errorf("%s: %s: %s: %w", doing, path, hint, sqlitefile.Explain(path, err))
	}
	return fmt.Errorf("%s: %s: %w", doing, path, err)
}

// isBusy reports whether another process holds a lock.
func isBusy(err error) bool { return sqlitefile.Code(err) == sqlite3.SQLITE_BUSY }

// isUnopenable reports whether SQLite could not open a file or create the files it needs beside it.
func isUnopenable(err error) bool {
	code := sqlitefile.Code(err)
	return code == sqlite3.SQLITE_CANTOPEN || code == sqlite3.SQLITE_READONLY
}

// isUnknownFormat reports whether the file is not ours: SQLite then rejects even valid queries with its generic error.
func isUnknownFormat(err error) bool { return sqlitefile.Code(err) == sqlite3.SQLITE_ERROR }

// isConstraint reports whether a row was refused because of its values.
func isConstraint(err error) bool {
	code := sqlitefile.Code(err)
	return code == sqlite3.SQLITE_CONSTRAINT || code == sqlite3.SQLITE_MISMATCH || code == sqlite3.SQLITE_TOOBIG
}
