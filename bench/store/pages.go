package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/bench/report"
)

// The parameters of the pages' measurement: all charts of eight regions that are kept, one every half hour, each with
// that many new titles.
const (
	pageDays  = 29
	newTitles = 9
	mostBytes = 60_000
)

// pages times each page of ingest serve, as a browser loads it, by one client on the loopback device.
func (b *bench) pages(ctx context.Context) (err error) {
	program, err := b.program(ctx)
	if err != nil {
		return err
	}
	days := pageDays
	if b.rows < 1_000_000 {
		days = 3
	}
	w, stop, err := b.serve(ctx, program, days)
	if err != nil {
		return err
	}
	defer stop()
	b.report.Section("Pages", fmt.Sprintf("`ingest serve` over %s videos and %s charts of 200 (%d days of eight regions by the half hour), asked by one client: first byte sent to last byte received.",
		thousands(len(w.ids)), thousands(days*48*len(eight)), days))
	return w.ask(ctx, b)
}

// serve starts ingest serve over a store of so many days of charts, filled by the half hour.
func (b *bench) serve(ctx context.Context, program string, days int) (w *watched, stop func(), err error) {
	dir, w := filepath.Join(cmp.Or(b.keep, b.dir), fmt.Sprintf("pages-%d", days)), &watched{}
	if err := w.fill(ctx, b, dir, days); err != nil {
		return nil, nil, err
	}
	now := began.AddDate(0, 0, days).Add(-every + time.Minute)
	if err := os.WriteFile(filepath.Join(dir, "config.yaml"), []byte("api: {limits: {1m: 1000000, 1h: 10000000}}\n"), 0o600); err != nil {
		return nil, nil, err
	}
	env := append(os.Environ(), "INGEST_DATA="+dir, "INGEST_CONFIG="+filepath.Join(dir, "config.yaml"), "INGEST_NOW="+now.Format(time.RFC3339))
	if err := rebuilt(ctx, program, env); err != nil && !w.kept {
		return nil, nil, err
	}
	var running []*exec.Cmd
	stop = func() {
		for _, cmd := range running {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
	}
	for _, p := range []struct {
		command string
		ready   string
	}{
		{"simulate", `(http://127\.0\.0\.1:\d+/)`},
		{"serve", `msg="ingest serves".* listen=(\S+)`},
	} {
		cmd := exec.CommandContext(ctx, program, p.command, "--listen", "127.0.0.1:0")
		cmd.Env = append(env, "INGEST_UPSTREAM_URL="+w.site)
		if w.site, err = started(cmd, regexp.MustCompile(p.ready)); err != nil {
			stop()
			return nil, nil, fmt.Errorf("ingest %s: %w", p.command, err)
		}
		running, w.pid = append(running, cmd), cmd.Process.Pid
	}
	return w, stop, nil
}

// rebuilt counts the spends of a filled store's slots in the ledger, and opens the pools that this closes.
func rebuilt(ctx context.Context, program string, env []string) error {
	const closedUntilPosted = 69
	for _, args := range [][]string{{"rebuild"}, {"post", "units", "0"}, {"post", "search", "0"}, {"post", "batch_stats", "0"}} {
		cmd := exec.CommandContext(ctx, program, append([]string{"quota"}, args...)...)
		cmd.Env = append(slices.Clone(env), "INGEST_UPSTREAM_URL=http://127.0.0.1:1/")
		if out, err := cmd.CombinedOutput(); err != nil && (args[0] != "rebuild" || cmd.ProcessState.ExitCode() != closedUntilPosted) {
			return fmt.Errorf("ingest quota %s: %w\n%s", args[0], err, out)
		}
	}
	return nil
}

// program builds ingest as it is shipped.
func (b *bench) program(ctx context.Context) (string, error) {
	program := filepath.Join(b.dir, "ingest")
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-o", program, "./cmd/ingest")
	build.Dir, build.Env = "..", append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build ingest: %w\n%s", err, out)
	}
	return program, nil
}

// watched is an ingest serve, and its store's content.
type watched struct {
	upstream, site string
	pid            int // of the server
	ids            []string
	words          []string
	kept           bool // from an earlier run
}

// fill stores days of charts with titles that come, move and go.
func (w *watched) fill(ctx context.Context, b *bench, dir string, days int) (err error) {
	start, g, rng := time.Now(), newGenerator(), rand.New(rand.NewPCG(3, 4))
	_, missing := os.Stat(dir)
	w.kept = missing == nil
	s, err := openOurs(ctx, dir)
	if err != nil {
		return err
	}
	s.perPage = 200
	defer func() { err = errors.Join(err, s.Close()) }()
	charts, known := map[ingest.Region][]ingest.Video{}, map[string]ingest.Video{}
	for i := range days * 48 * len(eight) {
		region := eight[i%len(eight)]
		shown := charts[region]
		for _, v := range g.take(max(newTitles, 200-len(shown))) {
			at := rng.IntN(min(len(shown), 200-newTitles) + 1)
			shown = append(shown[:at], append([]ingest.Video{v}, shown[at:]...)...)
			w.ids, known[v.ID] = append(w.ids, v.ID), v
		}
		charts[region] = shown[:200]
		if w.kept {
			continue
		}
		if err := s.keep(ctx, chart{region, began.Add(time.Duration(i/len(eight)) * every), charts[region]}); err != nil {
			return err
		}
		if i%(48*len(eight)) == 0 { // a pass tidies too
			if err := errors.Join(s.refresh(ctx, began.AddDate(0, 0, i/(48*len(eight))), known), s.Tidy(ctx)); err != nil {
				return err
			}
		}
	}
	for range 500 {
		w.words = append(w.words, g.words(1))
	}
	b.say("filled %s in %v", dir, time.Since(start).Round(time.Second))
	return nil
}

// ask requests each kind of page, a different one each time.
func (w *watched) ask(ctx context.Context, b *bench) error {
	var rows [][]string
	for _, p := range []struct {
		name  string
		times int
		pause time.Duration // time for caches to expire
		path  func(i int) string
	}{
		{"a chart", b.searches, 0, func(i int) string { return "charts/" + string(eight[i%len(eight)]) }},
		{"a video of the last day", b.searches, 0, func(i int) string { return "videos/" + w.ids[len(w.ids)-1-i] }},
		{"a video of the last three weeks", b.searches, 0, func(i int) string { return "videos/" + w.ids[len(w.ids)/4+i*(len(w.ids)/2/b.searches)] + "?since=29d" }},
		{"a search, one word", b.searches, 0, func(i int) string { return "search?q=" + url.QueryEscape(w.words[i%len(w.words)]) }},
		{"the status, again within 5 s", b.searches, 0, func(int) string { return "status" }},
		{"the status, afresh", 10, 5200 * time.Millisecond, func(int) string { return "status" }},
	} {
		var took []float64
		most := 0
		for i := range 1 + p.times {
			time.Sleep(p.pause)
			t, err := timed(func() error {
				size, err := get(ctx, w.site+p.path(i%p.times))
				most = max(most, size)
				return err
			})
			if err != nil {
				return fmt.Errorf("%s: %w", p.name, err)
			}
			if i > 0 {
				took = append(took, t)
			}
		}
		p99 := report.Quantile(took, 0.99)
		rows = append(rows, []string{p.name, ms(report.Median(took)), ms(p99), thousands(most)})
		b.report.Goal(p.name+": p99", "<= 30 ms", ms(p99)+" ms", p99 <= 30)
		b.report.Goal(p.name+": bytes of HTML", fmt.Sprintf("<= %s", thousands(mostBytes)), thousands(most), most <= mostBytes)
	}
	b.report.Table([]string{"page", "p50 ms", "p99 ms", "most bytes"}, rows)
	return nil
}

// get returns the size of a page.
func get(ctx context.Context, address string) (int, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return 0, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", address, resp.Status)
	}
	return len(body), err
}

// started starts a program, and returns the pattern's capture in its first matching line.
func started(cmd *exec.Cmd, line *regexp.Regexp) (string, error) {
	out, in, err := os.Pipe()
	if err != nil {
		return "", err
	}
	cmd.Stdout, cmd.Stderr = in, in
	if err := errors.Join(cmd.Start(), in.Close()); err != nil {
		return "", err
	}
	said, all := bufio.NewScanner(out), ""
	for said.Scan() {
		if m := line.FindStringSubmatch(said.Text()); m != nil {
			go func() { _, _ = io.Copy(io.Discard, out) }()
			return m[1], nil
		}
		all += said.Text() + "\n"
	}
	return "", fmt.Errorf("it does not say where it listens:\n%s", all)
}
