//go:build unix

package faulty

// disk is a small file system in memory, which only those see that are started on it. It is gone with this process,
// however that ends.
type disk struct {
	do   chan func()
	done chan struct{}
}

// on does something on the disk's thread.
func (d *disk) on(do func()) {
	d.do <- do
	<-d.done
}

func (d *disk) end() { close(d.do) }

// mountError is a machine that lets nobody mount.
type mountError struct{ err error }

func (e *mountError) Error() string { return e.err.Error() }
