//go:build unix

package hooks

import (
	"os/exec"
	"syscall"
)

// inGroup makes a command the leader of a process group, which ends as a whole.
func inGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
