package main_test

import (
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// mounting makes a command run with something else mounted, for it alone and only while it runs. It reports whether
// this machine permits that.
func mounting(t *testing.T, cmd *exec.Cmd, mount string) bool {
	t.Helper()
	if !mayMount() {
		t.Log("this machine lets nobody mount: files that may not grow, and a user who may not write, stand in")
		return false
	}
	inMount(cmd, mount)
	return true
}

// mayMount tries it.
var mayMount = sync.OnceValue(func() bool {
	dir, err := os.MkdirTemp("", "mount-*")
	if err != nil {
		return false
	}
	defer func() { _ = os.RemoveAll(dir) }()
	cmd := exec.Command("true")
	inMount(cmd, "mount -t tmpfs -o size=64k none "+quoted(dir))
	return cmd.Run() == nil
})

// inMount wraps a command in a shell command in a namespace of its own.
func inMount(cmd *exec.Cmd, mount string) {
	cmd.Args = append([]string{"sh", "-c", mount + ` && exec "$0" "$@"`, cmd.Path}, cmd.Args[1:]...)
	cmd.Path = "/bin/sh"
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	if uid := os.Getuid(); uid != 0 {
		cmd.SysProcAttr.Cloneflags = syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: uid, Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
	}
}

func quoted(path string) string { return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'" }
