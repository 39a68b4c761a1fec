//go:build unix

package store

import (
	"errors"
	"io"
	"os"
	"syscall"
)

// lockAlone takes the locks that SQLite takes for a file that is its alone, or returns errInUse: whoever has
// the store open holds a shared one. They end when any descriptor of the file is closed by this process.
// https://www.sqlite.org/src/file/src/os.h: PENDING_BYTE, RESERVED_BYTE and the 510 of SHARED_FIRST
func lockAlone(f *os.File) error {
	const pending = 0x40000000
	lock := syscall.Flock_t{Type: syscall.F_WRLCK, Whence: io.SeekStart, Start: pending, Len: 2 + 510}
	err := syscall.FcntlFlock(f.Fd(), syscall.F_SETLK, &lock)
	if errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.EACCES) {
		return errInUse
	}
	return err
}
