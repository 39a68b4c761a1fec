package faulty

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// dieWithParent makes the process end with the thread that starts it.
func dieWithParent(a *syscall.SysProcAttr) { a.Pdeathsig = syscall.SIGQUIT }

// signalAll signals the process and its children. A server's children have process groups of their own.
func (p *daemon) signalAll(sig syscall.Signal) {
	pid := p.cmd.Process.Pid
	all := []int{pid}
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range stats {
		text, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		_, rest, _ := strings.Cut(string(text), ") ")
		state, parent := "", 0
		if _, err := fmt.Sscan(rest, &state, &parent); err == nil && parent == pid {
			child, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
			all = append(all, child)
		}
	}
	for _, pid := range all {
		_ = syscall.Kill(pid, sig) // it may have ended
	}
}
