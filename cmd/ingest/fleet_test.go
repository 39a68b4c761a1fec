//go:build unix

package main_test

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// fleet is the members that run, as their parent sees them.
type fleet struct {
	t       *testing.T
	order   string
	members []*member
	started int

	mu   sync.Mutex
	said strings.Builder // on standard error, by all of them
}

type member struct {
	cmd   *exec.Cmd
	stdin io.Closer
}

func (f *fleet) Write(b []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.said.Write(b)
}

// start adds a member.
func (f *fleet) start() {
	f.t.Helper()
	exe, err := os.Executable()
	if err != nil {
		f.t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), fleetEnv+"="+f.order)
	cmd.Stderr = f
	in, err := cmd.StdinPipe()
	if err != nil {
		f.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		f.t.Fatal(err)
	}
	f.members = append(f.members, &member{cmd, in})
	f.started++
}

// kill ends the i-th member as kill -9 does.
func (f *fleet) kill(i int) {
	f.t.Helper()
	m := f.members[i]
	f.members = append(f.members[:i:i], f.members[i+1:]...)
	if err := m.cmd.Process.Kill(); err != nil {
		f.t.Fatal(err)
	}
	_ = m.cmd.Wait() // "signal: killed"
	_ = m.stdin.Close()
}

// stop ends all members with SIGTERM: each within five seconds, with code 0.
func (f *fleet) stop() {
	f.t.Helper()
	for _, m := range f.members {
		_ = m.cmd.Process.Signal(syscall.SIGTERM)
	}
	for _, m := range f.members {
		began := time.Now()
		if err := m.cmd.Wait(); err != nil || time.Since(began) > stopsWithin {
			f.t.Errorf("a member ended with %v after %v", err, time.Since(began))
		}
		_ = m.stdin.Close()
	}
	f.members = nil
}

func newFleet(t *testing.T, o ticks) *fleet {
	t.Helper()
	order, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	f := &fleet{t: t, order: string(order)}
	t.Cleanup(func() {
		for len(f.members) > 0 {
			f.kill(0)
		}
		if t.Failed() {
			t.Logf("the fleet said:\n%s", f.said.String())
		}
	})
	f.fill(3)
	return f
}

// fill starts members until there are n.
func (f *fleet) fill(n int) {
	f.t.Helper()
	for len(f.members) < n {
		f.start()
	}
}

// suspend stops the i-th member while it has a call in flight, and lets it go on after d.
func (f *fleet) suspend(i int, arrivals string, d time.Duration) {
	f.t.Helper()
	p := f.members[i].cmd.Process
	before := lastLine(f.t, arrivals)
	for began := time.Now(); time.Since(began) < 5*time.Second; time.Sleep(2 * time.Millisecond) {
		if last := lastLine(f.t, arrivals); last != before && strings.HasPrefix(last, fmt.Sprint(p.Pid, "-")) {
			break
		}
	}
	if err := p.Signal(syscall.SIGSTOP); err != nil {
		f.t.Fatal(err)
	}
	time.Sleep(d)
	if err := p.Signal(syscall.SIGCONT); err != nil {
		f.t.Fatal(err)
	}
}

func lastLine(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	return lines[len(lines)-1]
}

func (f *fleet) refused() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return strings.Count(f.said.String(), "the slot went to another run")
}
