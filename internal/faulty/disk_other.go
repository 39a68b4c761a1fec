//go:build unix && !linux

package faulty

import (
	"errors"
	"syscall"
)

func newDisk(string, int, *syscall.Credential) (*disk, error) {
	return nil, &mountError{errors.New("only on Linux")}
}
