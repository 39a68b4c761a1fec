//go:build unix

package main_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// fleet is the running members, as seen by their parent.
type fleet struct {
	t       *testing.T
	o       ticks
	program string   // of the members that start
	env     []string // and their other settings
	members []*member
	started int
	judge   *judge

	mu   sync.Mutex
	said strings.Builder // on standard error, by all of them
}

type member struct {
	cmd *exec.Cmd
	dir string // its data directory
}

func (f *fleet) Write(b []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.said.Write(b)
}

// start adds a member.
func (f *fleet) start() {
	f.t.Helper()
	order, err := json.Marshal(f.o)
	if err != nil {
		f.t.Fatal(err)
	}
	cmd, dir := exec.Command(f.program, "serve", "--workers", "2"), f.o.Dir
	cmd.Env = append(os.Environ(), ticksEnv+"="+string(order), "INGEST_PACING=off", "INGEST_UPSTREAM_URL=http://127.0.0.1:1/")
	if f.o.Place == "" {
		cmd.Env = append(cmd.Env, "WATCHDOG_USEC=400000") // five heartbeats a second
	} else {
		for n := 0; n == 0 || slices.ContainsFunc(f.members, func(m *member) bool { return m.dir == dir }); n++ {
			dir = filepath.Join(f.o.Dir, fmt.Sprint("machine", n))
		}
		cmd.Env = append(cmd.Env, "INGEST_STORE="+f.o.Place, "INGEST_LEDGER="+f.o.Place, "WATCHDOG_USEC=2000000") // a heartbeat a second
	}
	cmd.Env = append(append(cmd.Env, f.env...), "INGEST_DATA="+dir)
	cmd.Stderr = f
	if err := cmd.Start(); err != nil {
		f.t.Fatal(err)
	}
	f.members = append(f.members, &member{cmd, dir})
	f.started++
}

// kill ends the i-th member with kill -9.
func (f *fleet) kill(i int) {
	f.t.Helper()
	m := f.members[i]
	f.members = append(f.members[:i:i], f.members[i+1:]...)
	if err := m.cmd.Process.Kill(); err != nil {
		f.t.Fatal(err)
	}
	_ = m.cmd.Wait() // "signal: killed"
}

// stop ends all members with SIGTERM: each within five seconds, with the signal's code.
func (f *fleet) stop() {
	f.t.Helper()
	for _, m := range f.members {
		_ = m.cmd.Process.Signal(syscall.SIGTERM)
	}
	for _, m := range f.members {
		began := time.Now()
		_ = m.cmd.Wait()
		if code := m.cmd.ProcessState.ExitCode(); code != 128+int(syscall.SIGTERM) || time.Since(began) > stopsWithin {
			f.t.Errorf("a member ended with %v after %v", m.cmd.ProcessState, time.Since(began))
		}
	}
	f.members = nil
}

func newFleet(t *testing.T, o ticks, env ...string) *fleet {
	t.Helper()
	f := &fleet{t: t, o: o, program: self(t), env: env}
	f.begin()
	return f
}

// begin starts three members, and ends the remaining ones with the test.
func (f *fleet) begin() {
	f.t.Helper()
	f.t.Cleanup(func() {
		for len(f.members) > 0 {
			f.kill(0)
		}
		if f.t.Failed() {
			f.t.Logf("the fleet said:\n%s", f.said.String())
		}
	})
	f.fill(3)
}

// fill starts members until there are n.
func (f *fleet) fill(n int) {
	f.t.Helper()
	for len(f.members) < n {
		f.start()
	}
}

// suspend stops the i-th member while it has a call in flight, and continues it when its leases have expired and others
// have taken over its slots. A member stopped in the middle of a write would keep all others from writing, and let
// their leases expire as well: it is continued at once, and stopped another time.
func (f *fleet) suspend(i int, j *judge) {
	f.t.Helper()
	p := f.members[i].cmd.Process
	signal := func(s syscall.Signal) {
		if err := p.Signal(s); err != nil {
			f.t.Fatal(err)
		}
	}
	held := func() int64 {
		return j.count(fmt.Sprintf("state = 'claimed' AND '/' || owner || '/' LIKE '%%/%d/%%'", p.Pid))
	}
	for stopped := false; !stopped; {
		before := lastLine(f.t, j.o.arrivals())
		j.waitUntil("a call is in flight", func() bool {
			last := lastLine(f.t, j.o.arrivals())
			return last != before && strings.HasPrefix(last, fmt.Sprint(p.Pid, "-"))
		})
		signal(syscall.SIGSTOP)
		j.waitUntil("no thread of the member runs", func() bool { return allStopped(p.Pid) })
		if stopped = held() > 0 && j.writable(); !stopped {
			signal(syscall.SIGCONT)
		}
	}
	j.waitUntil("the slots of a suspended member go to others", func() bool { return held() == 0 })
	signal(syscall.SIGCONT)
}

// allStopped reports whether every thread of a process is stopped. A thread that is in a system call when the signal
// comes still ends that call, and may lock a file in it.
func allStopped(pid int) bool {
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid)) // none where there is no /proc
	for _, file := range threads {
		stat, _ := os.ReadFile(file)
		_, after, _ := strings.Cut(string(stat), ") ")
		if after != "" && after[0] != 'T' {
			return false
		}
	}
	return true
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
