package main_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/trendvidstream/ingest/internal/report"
)

// served is a serve in a process of its own.
type served struct {
	t              *testing.T
	cmd            *exec.Cmd
	stdout, stderr output
	url            string
	gone           chan struct{}
}

var listens = regexp.MustCompile(`msg="ingest serves".* listen=(\S+)`)

// startServe starts ingest serve on a port of its own, and waits until it says where.
func startServe(t *testing.T, args ...string) *served {
	t.Helper()
	d := startProcess(t, append([]string{"serve", "--listen", "127.0.0.1:0"}, args...)...)
	d.until("it says where it listens", func() bool {
		m := listens.FindStringSubmatch(d.stderr.String())
		if m != nil {
			d.url = m[1]
		}
		return m != nil
	})
	return d
}

func startProcess(t *testing.T, args ...string) *served {
	t.Helper()
	return startCommand(t, exec.Command(self(t), args...))
}

func startCommand(t *testing.T, cmd *exec.Cmd) *served {
	t.Helper()
	d := &served{t: t, cmd: cmd, gone: make(chan struct{})}
	d.cmd.Stdout, d.cmd.Stderr = &d.stdout, &d.stderr
	if err := d.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = d.cmd.Wait()
		close(d.gone)
	}()
	t.Cleanup(func() {
		_ = d.cmd.Process.Kill()
		<-d.gone
		if t.Failed() {
			t.Logf("it said:\n%s", d.stderr.String())
		}
	})
	return d
}

// waitAtMost allows for a busy machine; no promise depends on it.
const waitAtMost = 3 * time.Minute

// until waits for a condition of a real process.
func (d *served) until(what string, is func() bool) {
	d.t.Helper()
	for began := time.Now(); !is(); time.Sleep(10 * time.Millisecond) {
		select {
		case <-d.gone:
			d.t.Fatalf("serve ended with %v before %s", d.cmd.ProcessState, what)
		default:
		}
		if time.Since(began) > waitAtMost {
			d.t.Fatalf("in %v it did not come to it that %s", waitAtMost, what)
		}
	}
}

// get requests a path from it.
func (d *served) get(path string) (code int, body string) {
	d.t.Helper()
	resp, err := http.Get(d.url + path)
	if err != nil {
		d.t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		d.t.Fatal(err)
	}
	return resp.StatusCode, string(data)
}

func (d *served) isReady() bool {
	code, _ := d.get("readyz")
	return code == http.StatusOK
}

// check returns one line of /readyz.
func (d *served) check(name string) report.Result {
	d.t.Helper()
	_, body := d.get("readyz?format=json")
	var doc struct{ Checks []report.Result }
	if err := json.Unmarshal([]byte(body), &doc); err != nil {
		d.t.Fatal(err)
	}
	for _, c := range doc.Checks {
		if c.Check == name {
			return c
		}
	}
	d.t.Fatalf("/readyz has no %s: %s", name, body)
	return report.Result{}
}

// stopsWithin is twice the promise: ending a call in flight may take four of its five seconds, and a busy machine is no
// broken promise. A helper that is not stopped runs on for a minute.
const stopsWithin = 10 * time.Second

// end signals it and requires it to be gone soon, with the signal's exit code.
func (d *served) end(sig syscall.Signal) {
	d.t.Helper()
	began := time.Now()
	if err := d.cmd.Process.Signal(sig); err != nil {
		d.t.Fatal(err)
	}
	select {
	case <-d.gone:
	case <-time.After(waitAtMost):
		d.t.Fatalf("%v: still there after %v", sig, waitAtMost)
	}
	if took, code := time.Since(began), d.cmd.ProcessState.ExitCode(); code != 128+int(sig) || took > stopsWithin {
		d.t.Errorf("%v: exit %d after %v, want %d within %v\n%s", sig, code, took, 128+int(sig), stopsWithin, d.stderr.String())
	}
}

// output is written by a process while the test reads it.
type output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *output) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *output) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// count returns how many lines contain the text.
func (l *output) count(text string) int {
	n := 0
	for line := range strings.Lines(l.String()) {
		if strings.Contains(line, text) {
			n++
		}
	}
	return n
}

// quickHeart makes serve's heart beat five times a second, as with a watchdog of 400 ms.
func quickHeart(t *testing.T) {
	t.Helper()
	t.Setenv("WATCHDOG_USEC", "400000")
}

// shortDir returns a directory whose path is short enough for a socket.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "ingest") //nolint:usetesting // t.TempDir is too long for a socket's name
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}
