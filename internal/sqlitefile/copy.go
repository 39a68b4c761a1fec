package sqlitefile

import (
	"context"
	"database/sql"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Snapshot copies a database that others may be using into a new file, as of one moment.
func Snapshot(ctx context.Context, path, to string) error {
	return Peek(ctx, path, func(db *sql.DB) error {
		if err := remove(to); err != nil { // what an earlier call has made
			return err
		}
		_, err := db.ExecContext(ctx, `VACUUM INTO ?`, to)
		return err
	})
}

// Copy copies the bytes of a database that nobody uses, and of its log, into new files.
func Copy(from, to string) error {
	f, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	return CopyOpen(f, to)
}

// CopyOpen is Copy of a database through a file that is open already.
func CopyOpen(from *os.File, to string) error {
	if err := copyTo(from, to); err != nil {
		return err
	}
	log, err := os.Open(from.Name() + "-wal")
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	return copyTo(log, to+"-wal")
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

// Publish gives a database that was made as draft its own name, path, which must be free: otherwise the error is
// fs.ErrExist. When it returns, the name is on the disk.
func Publish(draft, path string) error {
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
	SyncDir(filepath.Dir(path))
	return nil
}

// SyncDir writes the names in a directory to the disk, so that a new one survives a power cut.
func SyncDir(dir string) {
	if d, err := os.Open(dir); err == nil {
		_ = d.Sync()
		_ = d.Close()
	}
}
