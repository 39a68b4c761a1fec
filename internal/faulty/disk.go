//go:build unix

package faulty

// disk is a small file system in memory, visible only to processes started on it. It disappears with this process,
// however the process ends.
type disk struct {
	do   chan func()
	done chan struct{}
}

// on runs do on the disk's thread.
func (d *disk) on(do func()) {
	d.do <- do
	<-d.done
}

func (d *disk) end() { close(d.do) }

// mountError means that we have no right to mount on this machine.
type mountError struct{ err error }

func (e *mountError) Error() string { return e.err.Error() }
