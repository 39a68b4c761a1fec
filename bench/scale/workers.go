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
	chartPages = 4
	watched    = 40 * time.Second
)

// workers compares three machines with one, each with one worker: with a slow upstream, and with one that answers at
// once, so that only the store takes time.
func workers(ctx context.Context, servers []server, r *report.Report) error {
	s := servers[len(servers)-1]
	dir, program, err := build(ctx, s)
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	r.Section("Three workers beside one", fmt.Sprintf("Processes of `ingest serve --workers 1` on one PostgreSQL, charts of %d pages due, more of them than are fetched. Charts done within %v.", chartPages, watched))
	var rows [][]string
	for _, contest := range []struct {
		upstream time.Duration // time for a call
		jobs     int           // of eight regions each
		least    float64       // as a multiple of the time of one worker
	}{{100 * time.Millisecond, 60, 2.7}, {0, 300, 1.8}} {
		var rates [2]float64
		for i, n := range []int{1, 3} {
			f := fleet{s, dir, program, fmt.Sprintf("workers%d_%d", contest.upstream.Milliseconds(), n), n, contest.jobs, contest.upstream}
			err := f.run(ctx, func(ctx context.Context) (err error) {
				rates[i], err = f.rate(ctx)
				return err
			})
			if err != nil {
				return err
			}
			rows = append(rows, []string{contest.upstream.String(), fmt.Sprint(n), fmt.Sprintf("%.0f", rates[i]), report.Ratio(rates[i] / rates[0])})
		}
		ratio := rates[1] / rates[0]
		r.Goal(fmt.Sprintf("three workers, a stand-in of %d ms", contest.upstream.Milliseconds()), fmt.Sprintf(">= %g x one worker's slots a minute", contest.least), report.Ratio(ratio), ratio >= contest.least)
	}
	r.Table([]string{"a call takes", "workers, " + s.name, "slots a minute", "x one"}, rows)
	return nil
}

// hour is how many charts ten installations that spend a key's whole quota fetch in an hour: 25,000 a day.
const hour = 25_000 / 24

// traffic measures the rows that an hour of ten installations leaves in PostgreSQL, by three machines as fast as they
// can.
func traffic(ctx context.Context, servers []server, r *report.Report) error {
	s := servers[len(servers)-1]
	dir, program, err := build(ctx, s)
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	f := fleet{s, dir, program, "traffic", 3, (hour + 7) / 8, 0}
	var rows [][]string
	var wal, took string
	err = f.run(ctx, func(ctx context.Context) error {
		began, before := time.Now(), ""
		for done := 0; done < hour; time.Sleep(time.Second) {
			if done, err = f.done(ctx); err == nil && before == "" && done > 0 {
				found, err := s.QueryIn(ctx, f.database, "SELECT pg_current_wal_insert_lsn()")
				if err != nil {
					return err
				}
				before = found[0][0]
			}
			if time.Since(began) > 20*time.Minute || ctx.Err() != nil {
				return errors.Join(fmt.Errorf("%d of %d charts are done after %v", done, hour, time.Since(began)), err)
			}
		}
		took = time.Since(began).Round(time.Second).String()
		found, err := s.QueryIn(ctx, f.database, fmt.Sprintf("SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '%s')::bigint / %d", before, hour))
		if err != nil {
			return err
		}
		wal = found[0][0]
		time.Sleep(5 * time.Second) // statistics are written by then
		rows, err = s.QueryIn(ctx, f.database, `
			SELECT relname, n_live_tup, n_dead_tup, n_tup_upd, round(100.0 * n_tup_hot_upd / greatest(n_tup_upd, 1)) || ' %', autovacuum_count, pg_size_pretty(pg_total_relation_size(relid))
			FROM pg_stat_user_tables
			WHERE relname IN ('river_job', 'slots', 'series', 'placements', 'video_facts', 'video_latest', 'video_text', 'video_words', 'entries', 'states') ORDER BY relname`)
		return err
	})
	if err != nil {
		return err
	}
	r.Section("An hour of ten installations", fmt.Sprintf("%d charts of %d pages, as many as ten installations fetch in an hour, by three machines in %s; `autovacuum_naptime` of 10 s, the rest as PostgreSQL comes. %s bytes of WAL for each chart.", hour, chartPages, took, wal))
	r.Table([]string{"table", "rows", "dead", "updates", "on their page", "autovacuums", "with indexes"}, rows)
	return nil
}

// build makes the program in its own directory.
func build(ctx context.Context, s server) (dir, program string, err error) {
	if dir, err = os.MkdirTemp(s.dir, "scale"); err != nil {
		return "", "", err
	}
	program = filepath.Join(dir, "ingest")
	build := exec.CommandContext(ctx, "go", "build", "-tags", "grpcnotrace", "-o", program, "./cmd/ingest")
	build.Dir = ".."
	if out, err := build.CombinedOutput(); err != nil {
		return "", "", errors.Join(fmt.Errorf("build: %w: %s", err, out), os.RemoveAll(dir))
	}
	return dir, program, nil
}

// fleet is a number of machines at work on their own database.
type fleet struct {
	server

	dir, program, database string
	machines, jobs         int           // each job has eight regions
	upstream               time.Duration // time for a call
}

// configure writes a schedule for that many machines that is not paced, and costs that it never reaches.
func (f fleet) configure() error {
	var text strings.Builder
	fmt.Fprintf(&text, "pacing: off\nhosts: %d\njobs:\n", f.machines)
	for i := range f.jobs {
		fmt.Fprintf(&text, "  - {name: job%03d, kind: chart, every: 24h, pages: %d}\n", i, chartPages)
	}
	costs, err := os.ReadFile("../costs.yaml")
	if err != nil {
		return err
	}
	more := strings.ReplaceAll(string(costs), "units: {24h: 10000, day: 10000}", "units: {24h: 1000000, day: 1000000}")
	return errors.Join(
		os.WriteFile(filepath.Join(f.dir, "ingest.yaml"), []byte(text.String()), 0o600),
		os.WriteFile(filepath.Join(f.dir, "costs.yaml"), []byte(more), 0o600))
}

// run calls do while the machines work.
func (f fleet) run(ctx context.Context, do func(context.Context) error) error {
	if err := f.configure(); err != nil {
		return err
	}
	if _, err := f.CreateDatabase(ctx, f.database); err != nil {
		return err
	}
	sim, err := youtubesim.New(youtubesim.Options{Seed: 1, Latency: f.upstream, Limits: map[string]int64{"units": 1_000_000}})
	if err != nil {
		return err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	up := &http.Server{Handler: sim, ReadHeaderTimeout: time.Minute}
	go func() { _ = up.Serve(listener) }()
	defer func() { _ = up.Close() }()
	place := strings.Replace(f.URL(), "/postgres?", "/"+f.database+"?", 1)
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var all []*exec.Cmd
	defer func() {
		stop()
		for _, c := range all {
			_ = c.Wait() // killed
		}
	}()
	for i := range f.machines {
		c := exec.CommandContext(ctx, f.program, "serve", "--quiet", "--workers", "1", "--config", filepath.Join(f.dir, "ingest.yaml"), "--costs", filepath.Join(f.dir, "costs.yaml"),
			"--store", place, "--ledger", place, "--data", filepath.Join(f.dir, f.database+strconv.Itoa(i)), "--upstream-url", "http://"+listener.Addr().String()+"/")
		c.Stderr = os.Stderr
		if err := c.Start(); err != nil {
			return err
		}
		all = append(all, c)
	}
	return do(ctx)
}

// done returns how many charts are done.
func (f fleet) done(ctx context.Context) (int, error) {
	rows, err := f.QueryIn(ctx, f.database, "SELECT count(*) FROM ingest.slots WHERE state = 'done'")
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(rows[0][0])
}

// rate waits until every worker has completed some charts, and then measures charts per minute.
func (f fleet) rate(ctx context.Context) (float64, error) {
	first := 0
	for end := time.Now().Add(time.Minute); first < 3*f.machines; time.Sleep(100 * time.Millisecond) {
		var err error
		if first, err = f.done(ctx); err != nil && time.Now().After(end) || ctx.Err() != nil {
			return 0, errors.Join(fmt.Errorf("%d slots are done after a minute", first), err)
		}
	}
	began := time.Now()
	time.Sleep(watched)
	last, err := f.done(ctx)
	if last > 8*f.jobs-f.machines {
		err = errors.Join(err, fmt.Errorf("all %d charts are done: too few", last))
	}
	return float64(last-first) / time.Since(began).Minutes(), err
}
