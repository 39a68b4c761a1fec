// Package sqlitefile treats a SQLite database as a file: it names one to the driver, locks it, copies it,
// and reads one that others may be using without leaving anything beside it.
package sqlitefile

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"modernc.org/sqlite" // the driver "sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/trendvidstream/ingest/internal/ownfile"
)

// Querier is a database, a connection or a transaction.
type Querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// Undefended is a parameter for a connection that reads a damaged schema, which SQLite's defensive mode forbids.
const Undefended = "_pragma=writable_schema(1)"

// DSN returns the name of the file for the driver. SQLite obeys parameters only in a name that begins with "file:";
// the path in it is escaped. Temporary files stay in memory, since a container whose root is read-only may have no
// directory for them. The file may come from another machine, so its schema may not call functions that act outside
// the database, SQLite checks its pages as it reads them, and no statement can damage the database unless params has
// Undefended. https://www.sqlite.org/security.html
func DSN(path string, params ...string) string {
	name := url.URL{Scheme: "file", Path: filepath.ToSlash(Resolve(path))}
	if !strings.HasPrefix(name.Path, "/") {
		name.Path = "/" + name.Path // file:///C:/...
	}
	params = append(params, "_pragma=temp_store(memory)", "_pragma=trusted_schema(0)", "_pragma=cell_size_check(1)")
	if !slices.Contains(params, Undefended) {
		params = append(params, "_defensive=1")
	}
	return name.String() + "?" + strings.Join(params, "&")
}

// Resolve returns the path with the links in its directory resolved. From then on SQLite does not
// follow a link at that path.
func Resolve(path string) string {
	if dir, err := ownfile.Resolve(filepath.Dir(path)); err == nil {
		path = filepath.Join(dir, filepath.Base(path))
	} // else SQLite reports the reason
	followNoLinks(path)
	return path
}

// Open returns a pool of at most n connections to the file. The first query opens the file, and the pool keeps idle
// connections open.
func Open(path string, n int, params ...string) (*sql.DB, error) {
	db, err := sql.Open("sqlite", DSN(path, params...))
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(n)
	db.SetMaxIdleConns(n)
	return db, nil
}

// Each runs a query and calls f on each of its rows.
func Each(ctx context.Context, q Querier, f func(*sql.Rows) error, query string, args ...any) error {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		if err := f(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// Code returns SQLite's primary result code; 0 if err is not from SQLite. SQLITE_IOERR_SHMSIZE counts as
// SQLITE_FULL, since SQLite reports it when a full disk has no room for the -shm file.
// https://www.sqlite.org/rescode.html
func Code(err error) int {
	e, ok := errors.AsType[*sqlite.Error](err)
	switch {
	case !ok:
		return 0
	case e.Code() == sqlite3.SQLITE_IOERR_SHMSIZE:
		return sqlite3.SQLITE_FULL
	}
	return e.Code() & 0xff
}

// Explain adds the system's reason to SQLite's error that it cannot open the file at path or one beside it, but only
// if the reason is Forbidden or too many open files. SQLite's errors that the file cannot be written become
// fs.ErrPermission, their text unchanged.
func Explain(path string, err error) error {
	switch Code(err) {
	case sqlite3.SQLITE_CANTOPEN:
	case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM:
		return forbidden{err}
	default:
		return err
	}
	f, why := os.OpenFile(path, os.O_RDWR, 0)
	if why == nil {
		_ = f.Close()
		why = withTemp(path, (*os.File).Close)
	}
	if at, ok := errors.AsType[*fs.PathError](why); ok && (Forbidden(why) || errors.Is(why, syscall.EMFILE)) {
		return fmt.Errorf("%w: %w", err, at.Err)
	}
	return err
}

// Forbidden reports whether an error of the system, or of Explain, says that the user cannot open or write a file.
func Forbidden(err error) bool {
	return errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS)
}

// LockPath returns the path of the lock file of the database at path: quota.lock of quota.db. If a person
// deletes quota.db*, the lock file stays and still shows that there was a database.
func LockPath(path string) string { return strings.TrimSuffix(path, ".db") + ".lock" }

// forbidden is an error of SQLite that the user cannot open or write a file.
type forbidden struct{ error }

func (f forbidden) Unwrap() error { return f.error }

func (forbidden) Is(target error) bool { return target == fs.ErrPermission }

// Exists reports whether something has this name.
func Exists(path string) bool {
	_, err := os.Lstat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

// CheckPlace refuses a database that other users could write or replace, and one that is a link (*ownfile.Error).
func CheckPlace(path string) error {
	if err := ownfile.CheckDir(filepath.Dir(path)); err != nil {
		return err
	}
	for _, suffix := range []string{"", "-wal", "-shm", "-journal"} {
		if err := ownfile.Check(path + suffix); err != nil {
			return err
		}
	}
	return nil
}

// HasLog reports whether part of the database is in its -wal file.
func HasLog(path string) bool {
	info, err := os.Stat(path + "-wal")
	return err == nil && info.Size() > 0
}

// Remove removes a database with the files that SQLite puts beside it.
func Remove(path string) error {
	return errors.Join(RemoveBeside(path), remove(path))
}

// RemoveBeside removes the files that SQLite has put beside a database.
func RemoveBeside(path string) error {
	return errors.Join(remove(path+"-wal"), remove(path+"-shm"), remove(path+"-journal"))
}

// Rename renames a database that no process has open, with SQLite's files beside it. A missing file is no error.
func Rename(path, to string) error {
	for _, beside := range []string{"-wal", "-shm", ""} {
		if err := os.Rename(path+beside, to+beside); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

func remove(path string) error {
	if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// Snapshot copies a database that others may be using into a new file, as of one moment.
func Snapshot(ctx context.Context, path, to string) error {
	return Peek(ctx, path, func(db *sql.DB) error {
		if err := remove(to); err != nil { // an earlier call may have made it
			return err
		}
		_, err := db.ExecContext(ctx, `VACUUM INTO ?`, Resolve(to))
		return err
	})
}

// Copy copies the bytes of an unused database, and of its log, into new files.
func Copy(from *os.File, to string) error {
	if err := copyTo(from, to); err != nil {
		return err
	}
	log, err := ownfile.Open(from.Name()+"-wal", os.O_RDONLY)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	return copyTo(log, to+"-wal")
}

// Sizes of the beginning of a database.
const (
	HeaderSize = 100
	PageSize   = 4096
)

// CopyReadable copies a damaged database and replaces the copy's beginning with size bytes of a new one, fresh: the
// header, or the first page, which also says where each table begins. The header controls how SQLite reads every page,
// and differs between databases of one program only in the number of pages.
// https://www.sqlite.org/fileformat2.html#the_database_header
func CopyReadable(from *os.File, to, fresh string, size int64) error {
	const counterAt, pagesAt, validForAt = 24, 28, 92
	page, err := os.ReadFile(fresh)
	if err != nil {
		return err
	}
	info, err := from.Stat()
	if err != nil {
		return err
	}
	copy(page[validForAt:], page[counterAt:counterAt+4]) // otherwise SQLite ignores the number of pages
	binary.BigEndian.PutUint32(page[pagesAt:], uint32(max(info.Size()/PageSize, 1)))
	if info.Size() < PageSize { // the rest may be in its log
		size = PageSize
	}
	if _, err := from.Seek(0, io.SeekStart); err != nil {
		return err
	}
	if err := Copy(from, to); err != nil {
		return err
	}
	f, err := os.OpenFile(to, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(page[:size], 0)
	return errors.Join(err, f.Close())
}

func copyTo(from io.Reader, to string) error {
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, from)
	if err = errors.Join(err, out.Sync(), out.Close()); err != nil {
		_ = os.Remove(to)
	}
	return err
}

// Publish gives the database at draft the name path. draft is in the same directory or below it. If path exists, the
// error is fs.ErrExist. When Publish returns, the name is on the disk.
func Publish(draft, path string) error {
	root, err := ownfile.OpenRoot(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	from, err := filepath.Rel(filepath.Dir(path), draft)
	if err != nil {
		return err
	}
	to := filepath.Base(path)
	err = root.Link(from, to)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		// A file system without hard links: the name is free, or was a moment ago.
		if _, statErr := root.Lstat(to); errors.Is(statErr, fs.ErrNotExist) {
			err = root.Rename(from, to)
		}
	}
	if err != nil {
		return err
	}
	SyncDir(filepath.Dir(path))
	return nil
}

// ScratchDir makes a directory of mode 0700 for copies of a database: among the system's temporary files or, if the
// system has no place for those, in the data directory.
func ScratchDir(data, pattern string) (dir string, err error) {
	dir, err = os.MkdirTemp("", pattern)
	if err == nil {
		return dir, nil
	}
	dir, also := os.MkdirTemp(data, "."+pattern)
	if also != nil {
		return "", fmt.Errorf("no place for a copy: %w; %w: set TMPDIR to a directory that can be written", err, also)
	}
	return dir, nil
}

// SyncDir writes the names in a directory to the disk, so that a new one survives a power cut.
func SyncDir(dir string) {
	if d, err := os.Open(dir); err == nil {
		_ = d.Sync()
		_ = d.Close()
	}
}
