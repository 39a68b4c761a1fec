package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"time"

	"github.com/trendvidstream/ingest/internal/sqlitefile"
)

// backupTime is how the name of a backup in a directory says when it was made: ingest-20260214T094000Z.db.
const backupTime = "20060102T150405Z"

var backupName = regexp.MustCompile(`^ingest-([0-9]{8}T[0-9]{6}Z)\.db$`)

// BackupName returns the path of a backup that is made at this time in a directory.
func BackupName(dir string, at time.Time) string {
	return filepath.Join(dir, "ingest-"+at.UTC().Format(backupTime)+".db")
}

// CopyFile is a copy of a store that was found in a directory.
type CopyFile struct {
	Path  string
	At    time.Time // when it was made, as its name says; or else when it was last written
	Named bool      // its name is one of BackupName
}

// FindCopies returns the copies of stores in a directory, oldest first, the store that is in use there left out. A file
// is one if its header says so, whatever its name. A directory that is missing has none.
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

// isStoreFile reports whether a file's header is that of a store: https://www.sqlite.org/fileformat.html
func isStoreFile(path string) bool {
	const mark, applicationAt = "SQLite format 3\x00", 68
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }()
	header := make([]byte, applicationAt+4)
	_, err = io.ReadFull(f, header)
	return err == nil && string(header[:len(mark)]) == mark && binary.BigEndian.Uint32(header[applicationAt:]) == applicationID
}

// ExpireBackups deletes the backups in these directories that were made before a time, and returns what it deleted. A copy
// whose name is none of BackupName is left alone.
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
