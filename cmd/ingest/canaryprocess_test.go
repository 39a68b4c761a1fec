//go:build unix

package main_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/trendvidstream/ingest/internal/youtubesim"
)

// I6 for real processes: their output, files and answers, and their command line, which every user of the machine can
// read. All that makes Go and Google's client verbose is on.
//
// It starts some of the pairs of a command and a hazard.
func TestLongNoProcessShowsTheKey(t *testing.T) {
	pairs := longShare(t)
	t.Parallel() // one that is refused for a minute waits for that minute
	c, ways := newCanary(unlike), canaryWays()
	hazards := canaryHazards(t, c.key)
	var wait sync.WaitGroup
	few := make(chan struct{}, 16) // at once: most of them wait
	processes := 0
	start := func(h *home, w way, hazard hazard, work func(h *home, p *process), args ...string) {
		processes++
		wait.Go(func() {
			few <- struct{}{}
			defer func() { <-few }()
			p := h.start(c, w, hazard, args)
			work(h, p)
			p.end()
		})
	}
	ping := serveHazard(t, "the dead man's switch", http.NotFoundHandler())
	homes := map[*home]string{}
	newHome := func(name, base string) *home {
		h := newHome(t, c.key, base)
		h.ping = ping.base + "ping/check"
		homes[h] = name
		return h
	}
	rows := func(path string, i int) []string { return canaryRows[path].args[i%len(canaryRows[path].args)] }
	for i, hazard := range hazards {
		for k, path := range commands() {
			work := (*home).waits
			switch {
			case !pairs.has(i + k):
				continue
			case path == "ingest serve":
				work = (*home).asks
			case path == "ingest gateway":
				work = (*home).stops
			case path == "ingest simulate" || !canaryRows[path].child:
				continue
			}
			start(newHome(hazard.name, hazard.base), ways[(i+k)%goodWays(ways)], hazard, work, rows(path, i)...)
		}
		start(newHome(hazard.name, hazard.base), ways[i%goodWays(ways)], hazard, (*home).waits, "doctor", "--online")
	}
	none := hazards[slices.IndexFunc(hazards, func(h hazard) bool { return h.name == "none" })]
	for i, w := range ways {
		start(newHome(w.name, none.base), w, none, (*home).waits, rows("ingest run", i)...)
		if i%2 == 0 {
			start(newHome(w.name, none.base), w, none, (*home).stops, rows("ingest serve", i)...)
		}
	}
	start(newHome("simulate", none.base), ways[2], none, (*home).stops, "simulate")
	wait.Wait()
	files := 0
	for h, name := range homes {
		files += c.watchFiles(t, name, h.dir)
	}
	c.watch(t, ping.name, ping.heard.bytes())
	if len(ping.heard.bytes()) == 0 {
		t.Error("the dead man's switch heard 0 bytes, want a request")
	}
	for _, hazard := range hazards {
		if hazard.spied != nil {
			c.watch(t, hazard.name+": the other host", hazard.spied.bytes())
		}
		if hazard.name == "proxy" && !strings.Contains(string(hazard.spied.bytes()), "CONNECT stand-in.invalid") {
			t.Errorf("the proxy was told %q: it should have been asked to connect", hazard.spied.bytes())
		}
		if got := strings.Contains(string(hazard.heard.bytes()), c.key); got == hazard.unmet {
			t.Errorf("%s: the key came to the upstream: %t", hazard.name, got)
		}
	}
	t.Logf("%d processes, %d files: no piece of the key", processes, files)
}

// process is the program as a separate process.
type process struct {
	t              *testing.T
	c              canary
	where          string
	cmd            *exec.Cmd
	stdout, stderr output
	gone           chan struct{}
}

// start starts a process, and examines its command line unless the user has put the key there.
func (h *home) start(c canary, w way, hazard hazard, args []string) *process {
	g := w.give(h)
	p := &process{t: h.t, c: c, gone: make(chan struct{})}
	p.where = fmt.Sprintf("the process ingest %s, %s, %s", strings.Join(args, " "), hazard.name, w.name)
	p.cmd = exec.Command(self(h.t), h.args(args, g)...)
	p.cmd.Env = append([]string{
		"PATH=" + os.Getenv("PATH"), "GODEBUG=http2debug=2,netdns=go+2,gctrace=0", "GOTRACEBACK=all",
		"GOOGLE_SDK_GO_LOGGING_LEVEL=debug", "GOOGLE_API_GO_EXPERIMENTAL_ENABLE_NEW_AUTH_LIB=true", "DEBUG=*", "RIVER_DEBUG=1",
		"GRPC_GO_LOG_SEVERITY_LEVEL=info", "GRPC_BINARY_LOG_FILTER=*{" + c.key, "GRPC_GO_LOG_VERBOSITY_LEVEL=99", "OTEL_LOG_LEVEL=debug", "ENABLE_ENTERPRISE_CERTIFICATE_LOGS=1",
	}, hazard.env...)
	for name, value := range h.env(g) {
		if value != "" {
			p.cmd.Env = append(p.cmd.Env, name+"="+value)
		}
	}
	p.cmd.Stdout, p.cmd.Stderr = &p.stdout, &p.stderr
	if err := p.cmd.Start(); err != nil {
		h.t.Error(err)
		close(p.gone)
		return p
	}
	var line []byte
	for began := time.Now(); runtime.GOOS == "linux" && len(line) == 0 && time.Since(began) < time.Second; {
		line, _ = os.ReadFile("/proc/" + strconv.Itoa(p.cmd.Process.Pid) + "/cmdline") // empty for a moment, and at the end
	}
	if !w.open {
		c.watch(h.t, p.where+": its command line", line)
	}
	go func() {
		_ = p.cmd.Wait()
		close(p.gone)
	}()
	return p
}

// waits lets it end by itself.
func (*home) waits(p *process) {
	select {
	case <-p.gone:
	case <-time.After(waitAtMost):
		p.t.Errorf("%s: does not end", p.where)
	}
}

// asks waits until a serve has met the upstream, and requests everything that it serves.
func (h *home) asks(p *process) {
	url := ""
	p.until(func() bool {
		if m := listens.FindStringSubmatch(p.stderr.String()); m != nil {
			url = m[1]
		}
		return url != ""
	})
	p.until(func() bool {
		return strings.Count(p.stderr.String(), "slot=") > 0 || strings.Contains(p.stderr.String(), "level=WARN")
	})
	for _, path := range []string{"livez", "readyz", "readyz?format=json", "freshness", "metrics", "", "api/status", "debug/vars", "debug/pprof/cmdline"} {
		if url == "" {
			break
		}
		resp, err := http.Get(url + path)
		if err != nil {
			p.t.Errorf("%s: %s: %v", p.where, path, err)
			break
		}
		body, _ := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		var head strings.Builder
		_ = resp.Header.Write(&head)
		p.c.watch(p.t, p.where+": /"+path, append([]byte(head.String()), body...))
	}
	h.stops(p)
}

// stops ends one that would go on.
func (h *home) stops(p *process) {
	p.until(func() bool { return p.stderr.String() != "" })
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	h.waits(p)
}

// until waits for a condition of the process, at most until the process ends.
func (p *process) until(is func() bool) {
	for began := time.Now(); !is() && time.Since(began) < waitAtMost; time.Sleep(10 * time.Millisecond) {
		select {
		case <-p.gone:
			return
		default:
		}
	}
}

// end examines all its output.
func (p *process) end() {
	_ = p.cmd.Process.Kill()
	<-p.gone
	p.c.watch(p.t, p.where+": standard output", []byte(p.stdout.String()))
	p.c.watch(p.t, p.where+": standard error", []byte(p.stderr.String()))
}

// A process that crashes prints all its stacks; the key is on them while it waits for an answer.
func TestACrashDoesNotShowTheKey(t *testing.T) {
	c := newCanary(unlike)
	sim, err := youtubesim.New(youtubesim.Options{RequireKey: c.key, Latency: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	hazard := serveHazard(t, "crash", sim)
	for _, w := range canaryWays()[:goodWays(canaryWays())] {
		h := newHome(t, c.key, hazard.base)
		calls := len(sim.Log())
		p := h.start(c, w, hazard, []string{"run"})
		p.until(func() bool { return len(sim.Log()) > calls })
		_ = p.cmd.Process.Signal(syscall.SIGQUIT)
		h.waits(p)
		if dump := p.stderr.String(); strings.Count(dump, "goroutine ") < 5 || !strings.Contains(dump, "net/http.") || len(sim.Log()) == calls {
			t.Errorf("%s: it should have crashed in the middle of a call:\n%s", w.name, dump)
		}
		p.end()
		c.watchFiles(t, w.name, h.dir)
	}
}

// The standard library has a logger, which repeats text that a server sends after a complete answer, and other
// libraries write to it or have one of their own, which environment variables make verbose. Their messages are lines
// of our log, in the requested form, without quotations, or are dropped.
func TestLibrariesLogNothingByThemselves(t *testing.T) {
	c := newCanary(unlike)
	hazard := spoken(t, "unasked", behindAnAnswer)
	h := newHome(t, c.key, hazard.base)
	p := h.start(c, canaryWays()[0], hazard, []string{"serve", "--listen", "127.0.0.1:0", "--log-format", "json"})
	p.until(func() bool { return strings.Contains(p.stderr.String(), "Unsolicited response") })
	h.stops(p)
	p.end()
	said := p.stderr.String()
	if !strings.Contains(said, `"level":"WARN","msg":"Unsolicited response`) {
		t.Errorf("the standard library's logger said nothing:\n%s", said)
	}
	for line := range strings.Lines(said) {
		if strings.HasPrefix(line, "ingest: ") { // how the program has ended
			continue
		}
		var ours struct{ Time, Level, Msg string }
		if err := json.Unmarshal([]byte(line), &ours); err != nil || ours.Time == "" || ours.Level == "" || ours.Msg == "" {
			t.Errorf("this is no line of our log: %s", line)
		}
	}
}
