//go:build unix

package main_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/trendvidstream/ingest/internal/youtubesim"
	"github.com/trendvidstream/ingest/store"
)

// manyJobs are six chart jobs of eight regions, every minute: serve has six slots to fetch every 7.5 s.
const manyJobs = `jobs:
  - {name: first, kind: chart, every: 1m, pages: 2}
  - {name: second, kind: chart, every: 1m, pages: 2}
  - {name: third, kind: chart, every: 1m, pages: 2}
  - {name: fourth, kind: chart, every: 1m, pages: 2}
  - {name: fifth, kind: chart, every: 1m, pages: 2}
  - {name: sixth, kind: chart, every: 1m, pages: 2}
`

// crowd is processes of every kind on one data directory, and their results.
type crowd struct {
	*programRig

	end  time.Time
	mu   sync.Mutex
	took map[string][]time.Duration // by command
}

// half returns the longest time of half of a command's runs, and of 99 % of them.
func (c *crowd) half(name string) (half, most time.Duration) {
	took := slices.Sorted(slices.Values(c.took[name]))
	return took[len(took)/2], took[len(took)*99/100]
}

// stuck matches words that no person should read: that another process has the store.
var stuck = regexp.MustCompile(`(?i)\bbusy\b|\blocked\b|SQLITE_`)

// repeat starts a command repeatedly, with pauses, until the time is over and it has run often enough.
func (c *crowd) repeat(name string, least int, pause time.Duration, args func(n int) []string) {
	for n := 0; n < least || time.Now().Before(c.end); n++ {
		cmd, out, errs := c.command(nil, args(n)...)
		began := time.Now()
		_ = cmd.Run()
		took := time.Since(began)
		c.mu.Lock()
		c.took[name] = append(c.took[name], took)
		said := errs.String()
		if name != "search" && name != "chart" { // they print an upstream's inventions
			said += out.String()
		}
		c.want(cmd.ProcessState.ExitCode() == exitOK, "%s: exit %d: %s", name, cmd.ProcessState.ExitCode(), said)
		c.want(!stuck.MatchString(said), "%s says %s", name, stuck.FindString(said))
		c.mu.Unlock()
		time.Sleep(pause) // the test needs real processes
	}
}

// TestLongFaultManyProcessesAtOnce has every user command use one data directory at once, against a stand-in that is a
// process too: commands do not disturb each other, no reader waits for the writers, and the ledger counts as much
// as the stand-in. make soak does so for a minute.
func TestLongFaultManyProcessesAtOnce(t *testing.T) {
	t.Parallel()
	p := newProgram(t, "sqlite", 1_000_000, youtubesim.Options{})
	p.write("ingest.yaml", manyJobs)
	p.upstream = startSimulate(t, "--limit", "units=1000000")
	p.want(p.force() == exitOK, "no first run")
	c := &crowd{programRig: p, end: time.Now().Add(4 * time.Second), took: map[string][]time.Duration{}}
	if os.Getenv(soakEnv) != "" {
		c.end = time.Now().Add(time.Minute)
	}
	flags, _, _ := p.command(nil)
	serve := startServe(t, flags.Args[1:]...)
	var all sync.WaitGroup
	for _, w := range []struct {
		name  string
		least int
		pause time.Duration
		args  func(n int) []string
	}{
		{"run", 1, 200 * time.Millisecond, func(int) []string { return []string{"run", "--force", "--region", "US,GB"} }},
		{"search", 3, 0, func(int) []string { return []string{"search", "the"} }},
		{"version", 3, 0, func(int) []string { return []string{"version"} }}, // reads nothing
		{"chart", 2, 100 * time.Millisecond, func(int) []string { return []string{"chart", "US"} }},
		{"quota", 1, 300 * time.Millisecond, func(int) []string { return []string{"quota"} }},
		{"backup", 1, 300 * time.Millisecond, func(n int) []string { return []string{"backup", p.copyOf(n)} }},
		{"doctor", 2, 500 * time.Millisecond, func(n int) []string { return []string{"doctor", "--repair"}[:1+n%2] }},
	} {
		all.Go(func() { c.repeat(w.name, w.least, w.pause, w.args) })
	}
	all.Wait()
	serve.until("it has fetched a slot", func() bool { return strings.Contains(serve.stderr.String(), "outcome=done") })
	_ = serve.cmd.Process.Signal(syscall.SIGTERM)
	<-serve.gone
	p.want(serve.cmd.ProcessState.ExitCode() == 143, "serve: exit %d", serve.cmd.ProcessState.ExitCode())
	p.want(!stuck.MatchString(serve.stderr.String()), "serve says %s", stuck.FindString(serve.stderr.String()))
	served := strings.Count(serve.stderr.String(), "outcome=done")
	c.checkPages()
	c.checkStore()
	c.sound(len(c.took["backup"]))
	sent := ledgerOf(t, p.upstream).Units["units"]
	p.want(p.used() == sent && sent > 0, "the ledger counts %d, the stand-in %d", p.used(), sent)
	half, most := c.half("search")
	start, _ := c.half("version")
	p.want(half < start+2*time.Second, "half of the searches took more than %v, and half of the starts %v", half, start) // who waits for a writer waits two seconds
	t.Logf("serve fetched %d slots: searches took %v, 99 %% of them less than %v, of which the start of the process %v", served, half.Round(time.Millisecond), most.Round(time.Millisecond), start.Round(time.Millisecond))
	p.report("store: every command at once", sent, p.used())
}

func (p *programRig) copyOf(n int) string {
	return filepath.Join(p.dir, fmt.Sprintf("copy-%d.db", n))
}

// sound requires that every backup is whole and consistent.
func (c *crowd) sound(n int) {
	for i := range n {
		dir := c.TempDir()
		if err := os.Rename(c.copyOf(i), filepath.Join(dir, store.FileName)); err != nil {
			c.want(false, "backup %d: %v", i, err)
			continue
		}
		s, err := store.Open(c.Context(), dir, store.Options{ReadOnly: true})
		if err != nil {
			c.want(false, "backup %d: %v", i, err)
			continue
		}
		found, err := s.Check(c.Context(), 0)
		c.want(err == nil && len(found) == 0, "backup %d: %q %v", i, found, err)
		_ = s.Close()
	}
	left, err := filepath.Glob(filepath.Join(c.dir, "*.part-*"))
	c.want(err == nil && len(left) == 0, "backups left %v", left)
}

// startSimulate starts a stand-in in a process of its own, and returns its URL.
func startSimulate(t *testing.T, args ...string) string {
	t.Helper()
	var first struct{ URL string }
	sim := startProcess(t, append([]string{"simulate", "--quiet"}, args...)...)
	sim.until("it says where it is", func() bool { return json.Unmarshal([]byte(sim.stdout.String()), &first) == nil })
	return first.URL
}

// ledgerOf returns a stand-in's own count.
func ledgerOf(t *testing.T, base string) (l youtubesim.Ledger) {
	t.Helper()
	resp, err := http.Get(base + "sim/ledger")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if err := json.NewDecoder(resp.Body).Decode(&l); err != nil {
		t.Fatal(err)
	}
	return l
}
