package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/trendvidstream/ingest/bench/report"
	"github.com/trendvidstream/ingest/internal/youtubesim"
)

const (
	upstreamTakes = 100 * time.Millisecond
	chartPages    = 4
	jobs          = 60 // of eight regions each: more charts are due than are fetched
	watched       = 40 * time.Second
)

// workers compares three machines with one, each with one worker.
func workers(ctx context.Context, servers []server, r *report.Report) error {
	r.Section("Three workers beside one", fmt.Sprintf("Processes of `ingest serve --workers 1` on one PostgreSQL, %d charts of %d pages due, a stand-in upstream that takes %v a call. Charts done within %v.",
		8*jobs, chartPages, upstreamTakes, watched))
	s := servers[len(servers)-1]
	dir, err := os.MkdirTemp(s.dir, "scale")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	program := filepath.Join(dir, "ingest")
	build := exec.CommandContext(ctx, "go", "build", "-tags", "grpcnotrace", "-o", program, "./cmd/ingest")
	build.Dir = ".."
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build: %w: %s", err, out)
	}
	var rates [2]float64
	var rows [][]string
	for i, n := range []int{1, 3} {
		if err := configure(dir, n); err != nil {
			return err
		}
		if rates[i], err = slotsPerMinute(ctx, s, dir, program, n); err != nil {
			return err
		}
		rows = append(rows, []string{fmt.Sprint(n), fmt.Sprintf("%.0f", rates[i]), report.Ratio(rates[i] / rates[0])})
	}
	r.Table([]string{"workers, " + s.name, "slots a minute", "x one"}, rows)
	r.Goal("three workers, a stand-in of 100 ms", ">= 2.7 x one worker's slots a minute", report.Ratio(rates[1]/rates[0]), rates[1] >= 2.7*rates[0])
	return nil
}

// configure writes a schedule for so many machines that is not paced, and costs that it never reaches.
func configure(dir string, hosts int) error {
	var text strings.Builder
	fmt.Fprintf(&text, "pacing: off\nhosts: %d\njobs:\n", hosts)
	for i := range jobs {
		fmt.Fprintf(&text, "  - {name: job%02d, kind: chart, every: 24h, pages: %d}\n", i, chartPages)
	}
	costs, err := os.ReadFile("../costs.yaml")
	if err != nil {
		return err
	}
	more := strings.ReplaceAll(string(costs), "units: {24h: 10000, day: 10000}", "units: {24h: 1000000, day: 1000000}")
	return errors.Join(
		os.WriteFile(filepath.Join(dir, "ingest.yaml"), []byte(text.String()), 0o600),
		os.WriteFile(filepath.Join(dir, "costs.yaml"), []byte(more), 0o600))
}

// slotsPerMinute lets n machines work on a database of their own.
func slotsPerMinute(ctx context.Context, s server, dir, program string, n int) (rate float64, err error) {
	database := "workers" + strconv.Itoa(n)
	if _, err := s.CreateDatabase(ctx, database); err != nil {
		return 0, err
	}
	sim, err := youtubesim.New(youtubesim.Options{Seed: 1, Latency: upstreamTakes, Limits: map[string]int64{"units": 1_000_000}})
	if err != nil {
		return 0, err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	up := &http.Server{Handler: sim, ReadHeaderTimeout: time.Minute}
	go func() { _ = up.Serve(listener) }()
	defer func() { _ = up.Close() }()
	place := strings.Replace(s.URL(), "/postgres?", "/"+database+"?", 1)
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var all []*exec.Cmd
	defer func() {
		stop()
		for _, c := range all {
			_ = c.Wait() // killed
		}
	}()
	for i := range n {
		c := exec.CommandContext(ctx, program, "serve", "--quiet", "--workers", "1", "--config", filepath.Join(dir, "ingest.yaml"), "--costs", filepath.Join(dir, "costs.yaml"),
			"--store", place, "--ledger", place, "--data", filepath.Join(dir, database+strconv.Itoa(i)), "--upstream-url", "http://"+listener.Addr().String()+"/")
		c.Stderr = os.Stderr
		if err := c.Start(); err != nil {
			return 0, err
		}
		all = append(all, c)
	}
	return watch(ctx, s, database, n)
}

// watch waits until every worker has done some, and counts from then on.
func watch(ctx context.Context, s server, database string, n int) (float64, error) {
	done := func() (int, error) {
		rows, err := s.QueryIn(ctx, database, "SELECT count(*) FROM ingest.slots WHERE state = 'done'")
		if err != nil {
			return 0, err
		}
		return strconv.Atoi(rows[0][0])
	}
	first := 0
	for end := time.Now().Add(time.Minute); first < 3*n; time.Sleep(100 * time.Millisecond) {
		var err error
		if first, err = done(); err != nil && time.Now().After(end) || ctx.Err() != nil {
			return 0, errors.Join(fmt.Errorf("%d slots are done after a minute", first), err)
		}
	}
	began := time.Now()
	time.Sleep(watched)
	last, err := done()
	if last > 8*jobs-n {
		err = errors.Join(err, fmt.Errorf("all %d charts are done: too few", last))
	}
	return float64(last-first) / time.Since(began).Minutes(), err
}
