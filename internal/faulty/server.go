//go:build unix

package faulty

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// T is the part of a test that this package needs.
type T interface {
	Helper()
	Logf(format string, args ...any)
	Fatalf(format string, args ...any)
	Skipf(format string, args ...any)
	Failed() bool
	Cleanup(f func())
	TempDir() string
}

// Server is a redis-server or a sentinel with its own port and directory. It ends with its test.
type Server struct {
	Port int
	Dir  string

	t      T
	path   string
	args   []string
	log    *locked
	cmd    *exec.Cmd
	exited chan struct{}
}

// patience is how long a server may take to start or to answer: a busy machine is not a broken one.
const patience = time.Minute

// Redis starts a redis-server with settings such as "--appendonly", "yes". It writes to its disk only on Save, or if a
// setting says so. Without a redis-server the test is skipped.
func Redis(t T, settings ...string) *Server {
	t.Helper()
	s := &Server{Port: FreePort(t), Dir: t.TempDir(), t: t, path: program(t)}
	s.args = append([]string{"--port", fmt.Sprint(s.Port), "--bind", "127.0.0.1", "--dir", s.Dir, "--save", "",
		"--repl-diskless-sync-delay", "0", "--repl-ping-replica-period", "1"}, settings...)
	s.begin()
	return s
}

// Sentinel starts a sentinel that watches the master at addr under this name. It decides alone, and fails over after
// the master has not answered for down.
func Sentinel(t T, name, addr string, down time.Duration) *Server {
	t.Helper()
	s := &Server{Port: FreePort(t), Dir: t.TempDir(), t: t, path: program(t)}
	host, port, _ := net.SplitHostPort(addr)
	config := filepath.Join(s.Dir, "sentinel.conf")
	text := fmt.Sprintf("port %d\nbind 127.0.0.1\ndir %s\nsentinel monitor %s %s %s 1\nsentinel "+
		"down-after-milliseconds %s %d\nsentinel failover-timeout %s 5000\n",
		s.Port, s.Dir, name, host, port, name, down.Milliseconds(), name)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatalf("faulty: %v", err)
	}
	s.args = []string{config, "--sentinel"}
	s.begin()
	return s
}

// Addr is the address that the server listens on.
func (s *Server) Addr() string { return fmt.Sprintf("127.0.0.1:%d", s.Port) }

// Freeze stops the process: it keeps its connections and does not answer.
func (s *Server) Freeze() { s.signal(syscall.SIGSTOP) }

// Thaw lets the process continue, with the commands that arrived in the meantime.
func (s *Server) Thaw() { s.signal(syscall.SIGCONT) }

// Kill ends the process like a power cut.
func (s *Server) Kill() {
	s.signal(syscall.SIGKILL)
	<-s.exited
}

// Restart starts the server again after Kill, with the data on its disk.
func (s *Server) Restart() {
	s.t.Helper()
	s.begin()
}

// Save writes the server's data to its disk, for Restart to read.
func (s *Server) Save() { s.Must("SAVE") }

// Forget clears the server's disk, so that Restart starts empty.
func (s *Server) Forget() {
	s.t.Helper()
	for _, name := range []string{"dump.rdb", "appendonlydir"} {
		if err := os.RemoveAll(filepath.Join(s.Dir, name)); err != nil {
			s.t.Fatalf("faulty: %v", err)
		}
	}
}

// Must sends one command, which must succeed, and returns its reply as text: an array as one line per element, nil as
// nothing.
func (s *Server) Must(command ...string) string {
	s.t.Helper()
	reply, err := s.Do(command...)
	if err != nil {
		s.t.Fatalf("faulty: %s on %s: %v", strings.Join(command, " "), s.Addr(), err)
	}
	return reply
}

// Do sends one command on a new connection.
func (s *Server) Do(command ...string) (string, error) {
	c, err := (&net.Dialer{Timeout: time.Second}).DialContext(context.Background(), "tcp", s.Addr())
	if err != nil {
		return "", err
	}
	defer func() { _ = c.Close() }()
	_ = c.SetDeadline(time.Now().Add(patience))
	var ask bytes.Buffer
	fmt.Fprintf(&ask, "*%d\r\n", len(command))
	for _, word := range command {
		fmt.Fprintf(&ask, "$%d\r\n%s\r\n", len(word), word)
	}
	if _, err := c.Write(ask.Bytes()); err != nil {
		return "", err
	}
	return text(bufio.NewReader(c))
}

// text reads one reply.
func text(in *bufio.Reader) (string, error) {
	line, err := in.ReadBytes('\n')
	if err != nil {
		return "", err
	}
	switch line[0] {
	case '-':
		return "", errors.New(strings.TrimSpace(string(line[1:])))
	case '$':
		n, err := number(line)
		if err != nil || n < 0 {
			return "", err
		}
		value := make([]byte, n+2)
		for read := 0; read < len(value) && err == nil; {
			var more int
			more, err = in.Read(value[read:])
			read += more
		}
		return string(value[:n]), err
	case '*':
		n, err := number(line)
		var all []string
		for range max(n, 0) {
			var value string
			if value, err = text(in); err != nil {
				break
			}
			all = append(all, value)
		}
		return strings.Join(all, "\n"), err
	}
	return strings.TrimSpace(string(line[1:])), nil
}

// Await repeats the command until its reply contains want.
func (s *Server) Await(want string, command ...string) {
	s.t.Helper()
	last := ""
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		reply, err := s.Do(command...)
		if err == nil && strings.Contains(reply, want) {
			return
		}
		last = fmt.Sprint(reply, err)
	}
	s.t.Fatalf("faulty: %s on %s: no %q within %v, but %s", strings.Join(command, " "), s.Addr(), want, patience, last)
}

// begin starts the process and waits until it answers.
func (s *Server) begin() {
	s.t.Helper()
	first := s.log == nil
	if first {
		s.log = &locked{}
	}
	s.cmd, s.exited = exec.CommandContext(context.Background(), s.path, s.args...), make(chan struct{})
	s.cmd.Stdout, s.cmd.Stderr = s.log, s.log
	if err := s.cmd.Start(); err != nil {
		s.t.Fatalf("faulty: %v", err)
	}
	cmd, exited := s.cmd, s.exited
	go func() {
		_ = cmd.Wait() // killed
		close(exited)
	}()
	if first {
		s.t.Cleanup(func() {
			s.Kill()
			if s.t.Failed() {
				s.t.Logf("%s %s:\n%s", s.path, strings.Join(s.args, " "), s.log)
			}
		})
	}
	s.Await("PONG", "PING")
}

func (s *Server) signal(sig syscall.Signal) { _ = s.cmd.Process.Signal(sig) } // it may have ended

// program returns the path of redis-server.
func program(t T) string {
	t.Helper()
	if path := os.Getenv("REDIS_SERVER"); path != "" {
		return path
	}
	path, err := exec.LookPath("redis-server")
	if err != nil {
		t.Skipf("redis-server absent: install it, or set REDIS_SERVER: %v", err)
	}
	return path
}

// locked collects a process's output.
type locked struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *locked) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *locked) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
