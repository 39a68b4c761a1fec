//go:build unix

package sqlitefile

import (
	"errors"
	"io"
	"os"
	"syscall"
)

// TryLock takes the exclusive lock of an open file if it is free. Locks of this kind belong to the open file and end
// with it. SQLite ignores them: they are for files beside a database.
func TryLock(f *os.File) (bool, error) {
	err := flock(f, syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return false, nil
	}
	return err == nil, err
}

// Lock waits for the exclusive lock.
func Lock(f *os.File) error { return flock(f, syscall.LOCK_EX) }

// LockShared waits while another process has the exclusive lock; many may have the shared one.
func LockShared(f *os.File) error { return flock(f, syscall.LOCK_SH) }

// Unlock gives either lock back.
func Unlock(f *os.File) error { return flock(f, syscall.LOCK_UN) }

func flock(f *os.File, how int) error {
	for {
		err := syscall.Flock(int(f.Fd()), how)
		if !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}

// LockExclusive takes the locks that SQLite takes for exclusive use of a database, or returns ErrInUse:
// each process that has it open holds a shared one. They end when this process closes any descriptor of the file.
// https://www.sqlite.org/src/file/src/os.h: PENDING_BYTE, RESERVED_BYTE and the 510 of SHARED_FIRST
func LockExclusive(f *os.File) error {
	const pending = 0x40000000
	lock := syscall.Flock_t{Type: syscall.F_WRLCK, Whence: io.SeekStart, Start: pending, Len: 2 + 510}
	err := syscall.FcntlFlock(f.Fd(), syscall.F_SETLK, &lock)
	if errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.EACCES) {
		return ErrInUse
	}
	return err
}
