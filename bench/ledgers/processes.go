package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"github.com/trendvidstream/ingest/bench/report"
)

const (
	processCount = 8
	processTime  = 3 * time.Second
)

// worked is a worker's result: how long each of its calls took, in microseconds.
type worked struct {
	Waits  []int64
	Errors int
}

// processes lets 8 processes of this program write to one file as fast as they can.
func processes(ctx context.Context, places []place, r *report.Report) error {
	r.Section(fmt.Sprintf("SQLite: %d processes on one file", processCount), fmt.Sprintf(
		"Each takes as fast as it can for %v. Beside it bare rows, whose writers wait as SQLite's own busy handler has them wait.", processTime))
	var rows [][]string
	for _, p := range places {
		for _, plain := range []bool{false, true} {
			all, err := share(ctx, p.dir, plain)
			if err != nil {
				return fmt.Errorf("%s: %w", p.name, err)
			}
			name := "takes, " + p.name
			if plain {
				name = "bare rows, " + p.name
			}
			w := sum(all)
			rows = append(rows, []string{name, fmt.Sprintf("%.0f", float64(w.count)/processTime.Seconds()),
				ms(w.p50), ms(w.p99), ms(w.longest), fmt.Sprintf("%.2f", w.fairness), fmt.Sprint(w.errors)})
			if plain {
				continue
			}
			r.Goal("8 processes, "+p.name+": p99 wait", "< 50 ms", ms(w.p99)+" ms", w.p99 < 50_000)
			r.Goal("8 processes, "+p.name+": longest wait", "< 250 ms", ms(w.longest)+" ms", w.longest < 250_000)
			r.Goal("8 processes, "+p.name+": the least of one", ">= 0.5 x the mean", fmt.Sprintf("%.2f x, %d errors", w.fairness, w.errors), w.fairness >= 0.5 && w.errors == 0)
		}
	}
	r.Table([]string{"", "calls/s of all", "p50 ms", "p99 ms", "longest ms", "least/mean", "errors"}, rows)
	return nil
}

// worker is a process that says when it is ready, and begins when its input ends.
type worker struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
	stderr *bytes.Buffer
}

func startWorker(cmd *exec.Cmd) (worker, error) {
	w := worker{cmd: cmd, stderr: &bytes.Buffer{}}
	cmd.Stderr = w.stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return w, err
	}
	out, err := cmd.StdoutPipe()
	w.in, w.out = in, bufio.NewReader(out)
	if err == nil {
		err = cmd.Start()
	}
	return w, err
}

// share starts the workers, lets them go at once, and collects their results.
func share(ctx context.Context, parent string, plain bool) (_ []worked, err error) {
	dir, err := os.MkdirTemp(parent, "ledgers")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, processTime+time.Minute)
	defer cancel()
	file := filepath.Join(dir, "quota.db")
	if plain { // SQLite's busy handler does not wait while a new file is switched to WAL, so it is made beforehand
		_, closing, err := openBare(ctx, file)
		if err == nil {
			err = closing()
		}
		if err != nil {
			return nil, err
		}
	}
	args := []string{"-worker", file, "-lasts", processTime.String(), fmt.Sprintf("-plain=%t", plain)}
	var all []worker
	for range processCount {
		w, err := startWorker(exec.CommandContext(ctx, self, args...))
		if err != nil {
			return nil, err
		}
		all = append(all, w)
	}
	for _, w := range all {
		if _, err := w.out.ReadString('\n'); err != nil { // ready
			return nil, errors.Join(fmt.Errorf("a worker did not start: %w: %s", err, w.stderr), w.cmd.Wait())
		}
	}
	for _, w := range all {
		if err := w.in.Close(); err != nil { // go
			return nil, err
		}
	}
	results := make([]worked, len(all))
	for i, w := range all {
		err := json.NewDecoder(w.out).Decode(&results[i])
		if err := errors.Join(err, w.cmd.Wait()); err != nil {
			return nil, fmt.Errorf("a worker: %w: %s", err, w.stderr)
		}
	}
	return results, nil
}

// work is one worker: it opens the file, says so, and begins when its standard input ends.
func work(ctx context.Context, o options, in io.Reader, out io.Writer) (err error) {
	open := openTake
	if o.plain {
		open = openBare
	}
	call, closing, err := open(ctx, o.worker)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closing()) }()
	if _, err := fmt.Fprintln(out, "ready"); err != nil {
		return err
	}
	if _, err := io.Copy(io.Discard, in); err != nil {
		return err
	}
	var w worked
	for start := time.Now(); time.Since(start) < o.lasts; {
		began := time.Now()
		if err := call(ctx); err != nil {
			w.Errors++
		}
		w.Waits = append(w.Waits, time.Since(began).Microseconds())
	}
	return json.NewEncoder(out).Encode(w)
}

type summary struct {
	count, errors     int
	p50, p99, longest int64
	fairness          float64 // the least that one worker did, as a share of the mean
}

func sum(all []worked) summary {
	var waits []int64
	var s summary
	least := len(all[0].Waits)
	for _, w := range all {
		waits = append(waits, w.Waits...)
		s.errors += w.Errors
		least = min(least, len(w.Waits)-w.Errors)
	}
	slices.Sort(waits)
	s.count = len(waits) - s.errors
	s.p50, s.p99, s.longest = waits[len(waits)/2], waits[len(waits)*99/100], waits[len(waits)-1]
	s.fairness = float64(least) * float64(len(all)) / float64(max(s.count, 1))
	return s
}

func ms(us int64) string { return fmt.Sprintf("%.2f", float64(us)/1000) }
