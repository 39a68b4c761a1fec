//go:build unix

package sqliteledger

import (
	"errors"
	"os"
	"syscall"
)

// tryLock takes the exclusive lock of an open file if nobody has it. Locks of this kind belong to
// the open file, and end with it.
func tryLock(f *os.File) (bool, error) {
	err := flock(f, syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return false, nil
	}
	return err == nil, err
}

// lock waits for it.
func lock(f *os.File) error { return flock(f, syscall.LOCK_EX) }

// lockShared waits while somebody has the exclusive lock; many may have the shared one.
func lockShared(f *os.File) error { return flock(f, syscall.LOCK_SH) }

func unlock(f *os.File) error { return flock(f, syscall.LOCK_UN) }

func flock(f *os.File, how int) error {
	for {
		err := syscall.Flock(int(f.Fd()), how)
		if !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}
