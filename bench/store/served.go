package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/trendvidstream/ingest/bench/report"
)

// The parameters of the measurement under load.
const (
	servedDays  = 2
	connections = 16
	turns       = 3
	turnLasts   = 2 * time.Second
	htmlGoal    = 1500 // pages a second
)

// nodeServer answers with the file that its path names, which it holds in memory: no server in node does less.
const nodeServer = `const fs = require("fs"), http = require("http"), kept = {};
for (const [path, type] of [["/html", "text/html"], ["/json", "application/json"]])
  kept[path] = [fs.readFileSync(process.argv[1] + path), { "Content-Type": type + "; charset=utf-8" }];
const server = http.createServer((asked, answer) => { const [body, head] = kept[asked.url]; answer.writeHead(200, head); answer.end(body); });
server.listen(0, "127.0.0.1", () => console.log("at http://127.0.0.1:" + server.address().port + "/"));`

// served compares a chart's page with the same chart as JSON, and with a node server that has both in memory, as fast as
// each answers.
func (b *bench) served(ctx context.Context) error {
	program, err := b.program(ctx)
	if err != nil {
		return err
	}
	w, stop, err := b.serve(ctx, program, servedDays)
	if err != nil {
		return err
	}
	defer stop()
	all := []*target{
		{name: "the page of a chart", pid: w.pid, url: w.site + "charts/DE"},
		{name: "the page, gzip", pid: w.pid, url: w.site + "charts/DE", gzip: true},
		{name: "the chart as JSON", pid: w.pid, url: w.site + "v1/charts/DE"},
		{name: "the JSON, gzip", pid: w.pid, url: w.site + "v1/charts/DE", gzip: true},
	}
	for _, t := range all {
		began := time.Now()
		if err := t.ask(nil, nil); err != nil {
			return err
		}
		t.first = time.Since(began)
	}
	node, pid, stopNode, err := nodeHolding(ctx, b.dir, all[0].body, all[2].body)
	if err != nil {
		fmt.Fprintf(os.Stderr, "store: SKIPPED: node: %v\n", err)
	} else {
		defer stopNode()
		all = append(all, &target{name: "node, the page's bytes from memory", pid: pid, url: node + "html"}, &target{name: "node, the JSON's bytes", pid: pid, url: node + "json"})
	}
	for range turns {
		for _, t := range all {
			if err := t.load(); err != nil {
				return fmt.Errorf("%s: %w", t.name, err)
			}
		}
	}
	b.report.Section("A chart's page beside its JSON", fmt.Sprintf("`ingest serve` over %d days of eight regions, %d connections that stay open, %d turns of %v each, one after the other; the client is on the same machine. The first answer of each kind comes after the start, over a new connection.",
		servedDays, connections, turns, turnLasts))
	var rows [][]string
	for _, t := range all {
		first := ""
		if t.first > 0 {
			first = ms(t.first.Seconds() * 1000)
		}
		rows = append(rows, []string{t.name, thousands(len(t.body)), first, fmt.Sprintf("%.0f", t.perSecond()), ms(t.p99()), fmt.Sprintf("%.0f", t.perCPU())})
	}
	b.report.Table([]string{"", "bytes", "first, ms", "a second", "p99, ms", "a second of one core"}, rows)
	b.report.Say("The last column is per second of the server's own processor time, so other load on the machine does not change it much.")
	page := all[0]
	b.report.Goal("pages of a chart, for each second of one core", fmt.Sprintf(">= %d", htmlGoal), fmt.Sprintf("%.0f", page.perCPU()), page.perCPU() >= htmlGoal)
	for _, peer := range all[2:] {
		if times := page.perSecond() / peer.perSecond(); !peer.gzip && peer.name != "node, the JSON's bytes" {
			b.report.Goal("pages of a chart a second, beside "+peer.name, ">= 0.5 x", fmt.Sprintf("%.2f x", times), times >= 0.5)
		}
	}
	return nil
}

// target is an address, and its answers under load.
type target struct {
	name, url string
	gzip      bool
	first     time.Duration // of the first answer
	body      []byte
	took      []float64     // ms
	pid       int           // of its server
	used      time.Duration // by that, of the processor
}

func (t *target) perCPU() float64 { return float64(len(t.took)) / max(t.used.Seconds(), 1e-9) }

// processorTime is how long a process has run on a processor; 0 if the system does not say.
func processorTime(pid int) time.Duration {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, rest, _ := strings.Cut(string(text), ") ")
	fields := strings.Fields(rest)
	if len(fields) < 13 {
		return 0
	}
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	return time.Duration(user+system) * time.Second / 100
}

func (t *target) perSecond() float64 { return float64(len(t.took)) / (turns * turnLasts).Seconds() }

func (t *target) p99() float64 { return report.Quantile(slices.Clone(t.took), 0.99) }

// ask sends one request, over a connection of its own if conn is nil.
func (t *target) ask(conn net.Conn, in *bufio.Reader) error {
	host, path, _ := strings.Cut(strings.TrimPrefix(t.url, "http://"), "/")
	if conn == nil {
		made, err := net.Dial("tcp", host)
		if err != nil {
			return err
		}
		defer func() { _ = made.Close() }()
		conn, in = made, bufio.NewReader(made)
	}
	encoding := "identity"
	if t.gzip {
		encoding = "gzip"
	}
	if _, err := fmt.Fprintf(conn, "GET /%s HTTP/1.1\r\nHost: %s\r\nAccept-Encoding: %s\r\n\r\n", path, host, encoding); err != nil {
		return err
	}
	answer, err := http.ReadResponse(in, nil)
	if err != nil {
		return err
	}
	body, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK || t.gzip != (answer.Header.Get("Content-Encoding") == "gzip") {
		return fmt.Errorf("%s: %s, %q: %w", t.url, answer.Status, answer.Header.Get("Content-Encoding"), err)
	}
	if t.body == nil {
		t.body = body
	}
	return nil
}

// load asks over all connections until the turn ends.
func (t *target) load() (failed error) {
	var mu sync.Mutex
	var clients sync.WaitGroup
	host, _, _ := strings.Cut(strings.TrimPrefix(t.url, "http://"), "/")
	if err := t.ask(nil, nil); err != nil {
		return err
	}
	until, used := time.Now().Add(turnLasts), processorTime(t.pid)
	for range connections {
		clients.Go(func() {
			var times []float64
			conn, err := net.Dial("tcp", host)
			if err == nil {
				defer func() { _ = conn.Close() }()
			}
			for in := bufio.NewReader(conn); err == nil && time.Now().Before(until); {
				began := time.Now()
				if err = t.ask(conn, in); err == nil {
					times = append(times, time.Since(began).Seconds()*1000)
				}
			}
			mu.Lock()
			defer mu.Unlock()
			if t.took = append(t.took, times...); err != nil {
				failed = err
			}
		})
	}
	clients.Wait()
	t.used += processorTime(t.pid) - used
	return failed
}

// nodeHolding starts a node server of a page and a document.
func nodeHolding(ctx context.Context, dir string, page, doc []byte) (site string, pid int, stop func(), err error) {
	path, err := exec.LookPath("node")
	if err != nil {
		return "", 0, nil, err
	}
	for name, body := range map[string][]byte{"html": page, "json": doc} {
		if err := os.WriteFile(filepath.Join(dir, name), body, 0o600); err != nil {
			return "", 0, nil, err
		}
	}
	cmd := exec.CommandContext(ctx, path, "-e", nodeServer, dir)
	if site, err = started(cmd, regexp.MustCompile(`at (\S+)`)); err != nil {
		return "", 0, nil, err
	}
	return site, cmd.Process.Pid, func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }, nil
}
