package sqlitefile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// ErrInUse is returned by LockExclusive for a database that others have open.
var ErrInUse = errors.New("another process has it open")

// OpenLock opens a file to lock, and makes it if it is missing. It follows no link, with which anybody who may write to
// the directory could have another of our files overwritten.
func OpenLock(path string) (*os.File, error) {
	if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() {
		return nil, notPlain(path)
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|noFollow, 0o600)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = notPlain(path)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

func notPlain(path string) error {
	return &fs.PathError{Op: "lock", Path: path, Err: fmt.Errorf("%w: it is a link or another kind of file than ours: remove it", fs.ErrPermission)}
}
