package store

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/internal/ownfile"
	"github.com/trendvidstream/ingest/internal/sqlitefile"
)

// Backup copies the store as of one moment into a new file of mode 0600, while others read and write it. An existing
// file is left unchanged: fs.ErrExist. The copy is named FILE.part- and a number until it is complete, checked and
// synced to disk; a failure removes it, and if the process is killed, the next backup into the same file does.
func (s *Store) Backup(ctx context.Context, file string) (ingest.Backup, error) {
	file, err := filepath.Abs(file)
	if err != nil {
		return ingest.Backup{}, fmt.Errorf("back up into %q: %w", file, err)
	}
	made, err := s.copyTo(ctx, file, filepath.Base(file)+".part-")
	if err == nil { // best effort: a read-only directory cannot store the time
		_ = ownfile.Write(s.path+backedUp, []byte(made.Path+"\n"))
	}
	return made, err
}

// backedUp is the suffix of a file whose modification time is the time of the newest backup.
const backedUp = ".backed-up"

// LastBackup returns when Backup last made a copy; zero if it never did.
func (s *Store) LastBackup(context.Context) (time.Time, error) { return LastBackup(s.path) }

// LastBackup is Store.LastBackup for a file that is not opened.
func LastBackup(file string) (time.Time, error) {
	info, err := os.Stat(file + backedUp)
	if errors.Is(err, fs.ErrNotExist) {
		return time.Time{}, nil
	}
	if err != nil {
		return time.Time{}, fmt.Errorf("when was the last backup? %w", err)
	}
	return info.ModTime(), nil
}

// copyTo makes a copy whose name begins with prefix until it is complete.
func (d *database) copyTo(ctx context.Context, to, prefix string) (ingest.Backup, error) {
	if err := ownfile.CheckTarget(filepath.Dir(to), d.path); err != nil {
		return ingest.Backup{}, fmt.Errorf("back up into %s: %w", to, err)
	}
	removeLeftParts(filepath.Dir(to), prefix) // also beside a complete copy, whose maker may have been killed
	// SQLite would take another file's -wal for the log of the copy, and write it into the copy.
	for _, path := range []string{to, to + "-wal", to + "-journal"} {
		if sqlitefile.Exists(path) {
			return ingest.Backup{}, &fs.PathError{Op: "back up into", Path: path, Err: fs.ErrExist}
		}
	}
	f, err := os.CreateTemp(filepath.Dir(to), prefix+"*") // 0600
	if err != nil {
		return ingest.Backup{}, fmt.Errorf("back up into %s: %w: give a file in a directory that can be written", to, err)
	}
	part := f.Name()
	defer func() { _ = sqlitefile.Remove(part) }()
	if err := f.Close(); err != nil {
		return ingest.Backup{}, fmt.Errorf("back up into %s: %w", to, err)
	}
	if err := d.copyInto(ctx, part); err != nil {
		return ingest.Backup{}, err
	}
	made, err := finishCopy(ctx, part)
	if err != nil {
		return ingest.Backup{}, err
	}
	if err := sqlitefile.Publish(part, to); err != nil {
		return ingest.Backup{}, fmt.Errorf("back up into %s: %w", to, err)
	}
	made.Path = to
	return made, nil
}

// removeLeftParts removes parts that no process has locked. It may break the slower of two simultaneous copies to one
// file, which would fail anyway.
func removeLeftParts(dir, prefix string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return // creating the part will fail too
	}
	for _, e := range entries {
		number, ours := strings.CutPrefix(e.Name(), prefix)
		if _, err := strconv.ParseUint(number, 10, 64); !ours || err != nil {
			continue
		}
		path := filepath.Join(dir, e.Name())
		f, err := ownfile.Open(path, os.O_RDWR)
		if err != nil {
			continue
		}
		// always true outside Unix, where the system refuses to remove an open file
		free := sqlitefile.LockExclusive(f) == nil
		_ = f.Close()
		if free {
			_ = sqlitefile.Remove(path)
		}
	}
}

// copyInto copies the store as of one moment into the empty file part.
func (d *database) copyInto(ctx context.Context, part string) error {
	doing := "back up into " + filepath.Dir(part)
	// query_only would also forbid writing the copy.
	db, err := connect(d.path, 1, d.reading()...)
	if err != nil {
		return d.explain(ctx, doing, err)
	}
	defer func() { _ = db.Close() }()
	// The last writer to close the store locks it while folding the log into the file.
	err = untilFree(ctx, busyFor, func() error {
		_, err := db.ExecContext(ctx, `VACUUM INTO ?`, sqlitefile.Resolve(part))
		return err
	})
	if err != nil && !errors.As(d.explain(ctx, doing, err), new(*CorruptError)) {
		return explain(ctx, part, doing, err) // the copy could not be written
	}
	return d.explain(ctx, doing, err)
}

// finishCopy switches the copy to WAL mode, which VACUUM INTO does not, checks it, and syncs it to disk.
func finishCopy(ctx context.Context, part string) (made ingest.Backup, err error) {
	db, err := connect(part, 1, "mode=rw", "_journal_mode=WAL", "_synchronous=FULL")
	if err != nil {
		return made, explain(ctx, part, "finish the backup", err)
	}
	err = countRows(ctx, db, part, &made)
	if err := errors.Join(err, db.Close()); err != nil {
		return made, explain(ctx, part, "finish the backup", err)
	}
	f, err := ownfile.Open(part, os.O_RDWR)
	if err != nil {
		return made, fmt.Errorf("finish the backup: %w", err)
	}
	info, err := f.Stat()
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return made, fmt.Errorf("finish the backup: %w", err)
	}
	made.Bytes = info.Size()
	return made, nil
}

// countRows checks that the copy is undamaged, and counts its rows.
func countRows(ctx context.Context, db *sql.DB, path string, c *ingest.Backup) error {
	if _, err := identify(ctx, db, path, "examine the backup"); err != nil {
		return err
	}
	if found, err := damages(ctx, db); err != nil {
		return err
	} else if len(found) > 0 {
		return &CorruptError{Path: path, Doing: "examine the backup", Err: errors.New(found[0])}
	}
	return db.QueryRowContext(ctx, `SELECT (SELECT count(*) FROM videos),
		(SELECT count(*) FROM placements), (SELECT coalesce(sum(count), 0) FROM slots)`).
		Scan(&c.Videos, &c.Placements, &c.Slots)
}

// backupTime is the time in a backup's name: ingest-20260214T094000Z.db.
const backupTime = "20060102T150405Z"

var backupName = regexp.MustCompile(`^ingest-([0-9]{8}T[0-9]{6}Z)\.db$`)

// BackupName returns the path of a backup made at this time in a directory.
func BackupName(dir string, at time.Time) string {
	return filepath.Join(dir, "ingest-"+at.UTC().Format(backupTime)+".db")
}

// CopyFile is a copy of a store that was found in a directory: old ones must be deleted like the store's rows.
type CopyFile struct {
	Path  string
	At    time.Time // from its name if Named, else its modification time
	Named bool      // its name is a BackupName
}

// FindCopies returns the copies of stores in a directory, oldest first, without the store in use there. It recognizes
// them by their headers. A missing directory has none.
func FindCopies(dir string) ([]CopyFile, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look for backups: %w", err)
	}
	var found []CopyFile
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() || e.Name() == FileName || !isStoreFile(filepath.Join(dir, e.Name())) {
			continue
		}
		c := CopyFile{Path: filepath.Join(dir, e.Name()), At: info.ModTime()}
		if name := backupName.FindStringSubmatch(e.Name()); name != nil {
			if at, err := time.Parse(backupTime, name[1]); err == nil {
				c.At, c.Named = at, true
			}
		}
		found = append(found, c)
	}
	slices.SortStableFunc(found, func(a, b CopyFile) int { return a.At.Compare(b.At) })
	return found, nil
}

// isStoreFile reports whether a file has a store's header: https://www.sqlite.org/fileformat.html
func isStoreFile(path string) bool {
	const mark, applicationAt = "SQLite format 3\x00", 68
	f, err := ownfile.Open(path, os.O_RDONLY)
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }()
	header := make([]byte, applicationAt+4)
	_, err = io.ReadFull(f, header)
	return err == nil && string(header[:len(mark)]) == mark &&
		binary.BigEndian.Uint32(header[applicationAt:]) == applicationID
}

// ExpireBackups deletes the backups in these directories made before a time, and returns their paths. It leaves copies
// with other names than BackupName alone.
func ExpireBackups(dirs []string, before time.Time) (deleted []string, err error) {
	for _, dir := range dirs {
		found, err := FindCopies(dir)
		if err != nil {
			return deleted, err
		}
		for _, c := range found {
			if !c.Named || !c.At.Before(before) {
				continue
			}
			if err := sqlitefile.Remove(c.Path); err != nil {
				return deleted, fmt.Errorf("delete a backup that is too old: %w", err)
			}
			deleted = append(deleted, c.Path)
		}
	}
	return deleted, nil
}
