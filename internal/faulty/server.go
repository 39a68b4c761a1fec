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
	"strconv"
	"strings"
	"sync"
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
	*daemon

	Dir string

	t    T
	path string
	args func(port int) []string
}

// patience is how long a server may take to start or to answer: a busy machine is not a broken one.
const patience = time.Minute

// Redis starts a redis-server with settings such as "--appendonly", "yes". It writes to its disk only on Save, or if a
// setting says so. Without a redis-server the test is skipped.
func Redis(t T, settings ...string) *Server {
	t.Helper()
	return newServer(t, func(dir string, port int) []string {
		return append([]string{"--port", strconv.Itoa(port), "--bind", "127.0.0.1", "--dir", dir, "--save", "",
			"--repl-diskless-sync-delay", "0", "--repl-ping-replica-period", "1"}, settings...)
	})
}

// Sentinel starts a sentinel that watches the master at addr under this name. It decides alone, and fails over after
// the master has not answered for down.
func Sentinel(t T, name, addr string, down time.Duration) *Server {
	t.Helper()
	host, master, _ := net.SplitHostPort(addr)
	return newServer(t, func(dir string, port int) []string {
		config := filepath.Join(dir, "sentinel.conf")
		text := fmt.Sprintf("port %d\nbind 127.0.0.1\ndir %s\nsentinel monitor %s %s %s 1\nsentinel "+
			"down-after-milliseconds %s %d\nsentinel failover-timeout %s 5000\n",
			port, dir, name, host, master, name, down.Milliseconds(), name)
		if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
			t.Fatalf("faulty: %v", err)
		}
		return []string{config, "--sentinel"}
	})
}

func newServer(t T, args func(dir string, port int) []string) *Server {
	t.Helper()
	dir := t.TempDir()
	s := &Server{daemon: &daemon{dir: dir, log: &locked{}}, Dir: dir, t: t, path: program(t),
		args: func(port int) []string { return args(dir, port) }}
	t.Cleanup(func() {
		s.Stop()
		if t.Failed() {
			t.Logf("%s on %d:\n%s", s.path, s.Port, s.log)
		}
	})
	s.Restart()
	return s
}

// Restart starts the server again after Kill, with the data on its disk.
func (s *Server) Restart() {
	s.t.Helper()
	if err := s.begin(s.path, s.args, s.ping); err != nil {
		s.t.Fatalf("faulty: %v\n%s", err, s.log)
	}
}

func (s *Server) ping(context.Context) error {
	reply, err := s.Do("PING")
	if err == nil && reply != "PONG" {
		err = fmt.Errorf("PING is answered with %q", reply)
	}
	return err
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
