package main_test

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/trendvidstream/ingest/internal/youtubesim"
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

// TestNothingIsSpentWithoutRoomForAnAnswer fills the disk of the data directory almost completely: no unit is spent,
// and every command says why.
func TestNothingIsSpentWithoutRoomForAnAnswer(t *testing.T) {
	p := newProgram(t, "sqlite", 250, youtubesim.Options{})
	if code := p.force(); code != exitOK {
		t.Fatalf("with room: exit %d, want %v", code, exitOK)
	}
	full := func(left int, args ...string) (code int, out string) {
		cmd, stdout, stderr := p.command(nil, args...)
		saved, data := quoted(p.dir+"/saved"), quoted(p.data())
		mount := "rm -rf " + saved + " && cp -a " + data + " " + saved + " && mount -t tmpfs -o size=20m none " + data +
			" && chmod 700 " + data + " && cp -a " + saved + "/. " + data
		room := "$(( $(df -k --output=avail " + data + " | tail -1) * 1024 - " + strconv.Itoa(left<<10) + " ))"
		if !mounting(t, cmd, mount+" && head -c "+room+" /dev/zero > "+data+"/filler") {
			t.Skip("mount: a disk that can be filled needs the right to mount, which this user does not have")
		}
		code = p.exit(cmd)
		return code, stdout.String() + stderr.String()
	}
	before := p.sim.Ledger().Units["units"]
	for _, left := range []int{120, 700} {
		code, text := full(left, "run", "--force")
		if spent := p.sim.Ledger().Units["units"] - before; spent != 0 || code == exitOK {
			t.Errorf("with %d KiB left a run spent %d units and ended with %d: %s", left, spent, code, text)
		}
		if !strings.Contains(text, "no room on the disk of") || !strings.Contains(text, "free some space") {
			t.Errorf("with %d KiB left a run said: %s, want \"no room on the disk of\" in it and \"free some space\" in it", left, text)
		}
	}
	for _, args := range [][]string{{"quota"}, {"slots"}, {"doctor"}} {
		if _, text := full(300, args...); !strings.Contains(text, "no room on the disk") || !strings.Contains(text, "free some space") {
			t.Errorf("%s: %s, want \"no room on the disk\" in it and \"free some space\" in it", args[0], text)
		}
	}
	if code, text := full(8<<10, "run", "--force"); code != exitOK {
		t.Errorf("with 8 MiB left: exit %d: %s, want %v", code, text, exitOK)
	}
}
