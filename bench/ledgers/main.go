// Command ledgers compares the quota ledgers of this project with rate limiters that people use: speed, memory, many
// writers, exactness. It starts its own redis-server and prints a table in markdown. Every verdict in it is computed
// from the figures of the same run.
//
//	go run ./ledgers [-write] [-only speed,memory,writers,exact,sqlite,shared] [-batches 41] [-disk DIR] [-memory DIR]
//
// It needs redis-server 7 or newer: REDIS_SERVER, or in PATH. Exit: 0 measured, even if goals are missed; 1 something
// could not be measured or, with -write, a goal that was met before is missed by more than 15 % (goals.json); 2 usage.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/trendvidstream/ingest/bench/report"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// options holds the command line.
type options struct {
	write        bool
	sections     []string
	batches      int
	disk, memory string        // directories for SQLite files
	worker       string        // the file to write to: this process is one of several
	plain        bool          // the worker writes rows without a ledger
	lasts        time.Duration // of a worker
}

var sectionNames = []string{"speed", "memory", "writers", "exact", "sqlite", "shared"}

func run(args []string, stdout, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	o, err := parse(args, stderr)
	if err != nil {
		return 2
	}
	if o.worker != "" {
		err = work(ctx, o, os.Stdin, stdout)
	} else {
		err = measure(ctx, o, stdout)
	}
	if err != nil {
		fmt.Fprintf(stderr, "ledgers: %v\n", err)
		return 1
	}
	return 0
}

func parse(args []string, stderr io.Writer) (options, error) {
	o := options{memory: "/dev/shm"}
	if _, err := os.Stat(o.memory); err != nil {
		o.memory = ""
	}
	f := flag.NewFlagSet("ledgers", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.BoolVar(&o.write, "write", false, "also write the table to "+report.File)
	only := f.String("only", strings.Join(sectionNames, ","), "the `PARTS` to measure")
	f.IntVar(&o.batches, "batches", 41, "how many batches each contender gets")
	f.StringVar(&o.disk, "disk", os.TempDir(), "a `DIR` on a disk with an honest fsync")
	f.StringVar(&o.memory, "memory", o.memory, "a `DIR` in memory, where fsync is free; empty: leave that out")
	f.StringVar(&o.worker, "worker", "", "`FILE`: be one of the processes that share it (the program starts itself so)")
	f.BoolVar(&o.plain, "plain", false, "with -worker: write rows without a ledger")
	f.DurationVar(&o.lasts, "lasts", 3*time.Second, "with -worker: for how long")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	o.sections = strings.Split(*only, ",")
	for _, s := range o.sections {
		if !slices.Contains(sectionNames, s) {
			err := fmt.Errorf("-only %s: use some of %s", s, strings.Join(sectionNames, ","))
			fmt.Fprintln(stderr, "ledgers:", err)
			return o, err
		}
	}
	if o.batches < 1 || o.lasts <= 0 || f.NArg() > 0 {
		err := fmt.Errorf("batches and lasts are above 0, and nothing follows the flags: %q", f.Args())
		fmt.Fprintln(stderr, "ledgers:", err)
		return o, err
	}
	return o, nil
}

// measure runs the requested parts one after the other, since they would disturb each other.
func measure(ctx context.Context, o options, stdout io.Writer) (err error) {
	s, err := startServer(ctx)
	if err != nil {
		return err
	}
	defer s.stop()
	ours, err := openOurs(ctx, s.url())
	if err != nil {
		return err
	}
	defer func() { _ = ours.Close() }()
	r := &report.Report{Title: title, About: howToRun}
	if err := machine(ctx, s, r); err != nil {
		return err
	}
	parts := map[string]func() error{
		"speed":   func() error { return speed(ctx, s, ours, o.batches, r) },
		"memory":  func() error { return memory(ctx, s, ours, r) },
		"writers": func() error { return writers(ctx, s, ours, r) },
		"exact":   func() error { return exact(ctx, s, ours, r) },
		"sqlite":  func() error { return sqlite(ctx, o, r) },
		"shared":  func() error { return shared(ctx, s, o, r) },
	}
	for _, name := range sectionNames {
		if !slices.Contains(o.sections, name) {
			continue
		}
		if err := parts[name](); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	fmt.Fprint(stdout, r.Markdown())
	if !o.write {
		return nil
	}
	return r.Write(report.File)
}

// flush empties the server, but keeps its scripts.
func flush(ctx context.Context, c *redis.Client) error { return c.FlushAll(ctx).Err() }
