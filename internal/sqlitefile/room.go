package sqlitefile

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
)

// NoRoomError means that the disk, or a user's share of it, has no room for a write.
type NoRoomError struct {
	Path string // the database
	Err  error
}

// Remedy names the trouble and the cure.
func (e *NoRoomError) Remedy() (wrong, advice string) {
	return "no room on the disk of " + e.Path, "free some space there; earlier writes are intact"
}

func (e *NoRoomError) Error() string {
	wrong, advice := e.Remedy()
	return fmt.Sprintf("%s: %v: %s", wrong, e.Err, advice)
}

// Is reports whether target is ENOSPC: SQLite has an error of its own for a full disk.
func (*NoRoomError) Is(target error) bool { return target == syscall.ENOSPC }

func (e *NoRoomError) Unwrap() error { return e.Err }

// AnswerRoom is how much room a call needs before it is made: four passes at once each write an answer of 50 videos, at
// most 200 kB in the log and 50 kB in the file as measured, and the ledger writes a little.
const AnswerRoom = 2 << 20

var (
	probing sync.Mutex // so that probes of one process do not take the room from each other
	blank   [1 << 16]byte
)

// Room returns a *NoRoomError if n more bytes cannot be written beside a database. It writes them into a file without
// a name, since the free space of a disk does not show the room within a user's quota, or a limit of file sizes. Other
// errors are left for the write itself to report.
func Room(path string, n int64) error {
	probing.Lock()
	defer probing.Unlock()
	if err := withTemp(path, func(f *os.File) error { return fill(f, n) }); isFull(err) {
		return &NoRoomError{Path: path, Err: err}
	}
	return nil
}

// withTemp calls do with a new file in the directory of path. do closes the file, which has no name afterwards.
func withTemp(path string, do func(*os.File) error) error {
	f, err := openNameless(filepath.Dir(path))
	if err != nil {
		f, err = os.CreateTemp(filepath.Dir(path), ".room-*")
		if err != nil {
			return err
		}
		defer removeFile(f.Name())() // a process that is killed now leaves nothing
	}
	return do(f)
}

// removeFile removes an open file, and returns the function that removes it once it is closed: Windows removes no
// file that is open.
func removeFile(name string) (again func()) {
	if os.Remove(name) == nil {
		return func() {}
	}
	return func() { _ = os.Remove(name) }
}

// fill writes n bytes to a file and closes it.
func fill(f *os.File, n int64) (err error) {
	for written := int64(0); err == nil && written < n; written += int64(len(blank)) {
		_, err = f.Write(blank[:])
	}
	return errors.Join(err, f.Close())
}

// isFull reports whether an error means that there is no room.
func isFull(err error) bool {
	for _, full := range []error{syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG} {
		if errors.Is(err, full) {
			return true
		}
	}
	return false
}
