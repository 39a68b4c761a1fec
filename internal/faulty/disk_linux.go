package faulty

import (
	"fmt"
	"os"
	"runtime"
	"syscall"
)

// newDisk mounts a disk of size bytes for its owner. Only its thread and that thread's processes see it.
func newDisk(dir string, size int, owner *syscall.Credential) (*disk, error) {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, err
	}
	d, mounted := &disk{do: make(chan func()), done: make(chan struct{})}, make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread sees another disk than all others, and ends with this goroutine
		err := mount(dir, size, owner)
		mounted <- err
		if err != nil {
			return
		}
		for do := range d.do {
			do()
			d.done <- struct{}{}
		}
	}()
	if err := <-mounted; err != nil {
		return nil, &mountError{err}
	}
	return d, nil
}

func mount(dir string, size int, owner *syscall.Credential) error {
	if err := syscall.Unshare(syscall.CLONE_NEWNS); err != nil {
		return fmt.Errorf("a name space for it: %w", err)
	}
	if err := syscall.Mount("none", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("a name space for it: %w", err)
	}
	options := fmt.Sprintf("size=%d,mode=0700", size)
	if owner != nil {
		options += fmt.Sprintf(",uid=%d,gid=%d", owner.Uid, owner.Gid)
	}
	if err := syscall.Mount("none", dir, "tmpfs", 0, options); err != nil {
		return fmt.Errorf("mount it: %w", err)
	}
	return nil
}
