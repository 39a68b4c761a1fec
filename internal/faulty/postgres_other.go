//go:build unix && !linux

package faulty

import "syscall"

func dieWithParent(*syscall.SysProcAttr) {}

// signalAll signals the process; its children notice when it is gone.
func (p *daemon) signalAll(sig syscall.Signal) { _ = p.cmd.Process.Signal(sig) }
