// Command scale measures the parts that many machines share: the ledger in PostgreSQL compared with a bare row, the
// store with one in SQLite, and several workers with one. It starts its own PostgreSQL servers, and a stand-in
// upstream; every verdict is computed from the figures of the same run.
//
//	go run ./scale [-write] [-only takes,writers,accounts,stores,workers,traffic] [-videos N] [-disk DIR] [-memory DIR]
//
// It needs PostgreSQL 15 or newer: POSTGRES_BIN, or Debian's directory. Exit: 0 measured, even if goals are missed; 1
// not measured or, with -write, a goal that was met before is missed by more than 15 % (goals.json).
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/trendvidstream/ingest/bench/report"
	"github.com/trendvidstream/ingest/internal/faulty"
)

const about = "In `bench/`: `go run ./scale -write`. It needs PostgreSQL 15 or newer (`POSTGRES_BIN`, or where Debian puts it) and starts servers\n" +
	"of its own. `-only takes,writers,accounts,stores,workers,traffic` runs parts, `-videos N` says how many are searched, `-disk DIR` says where fsync is real, `-memory DIR` where it is free.\n" +
	"Client, server and stand-in share the machine's cores. Compare ratios: milliseconds belong to the machine."

// place is a directory for a server's data, and how that server writes.
type place struct {
	name, dir string
	settings  []string
}

type options struct {
	write  bool
	parts  []string
	places []place
	videos int
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	o := options{}
	flag.BoolVar(&o.write, "write", false, "also write the table to "+report.File)
	only := flag.String("only", "takes,writers,accounts,stores,workers,traffic", "the `PARTS` to measure")
	disk := flag.String("disk", os.TempDir(), "a `DIR` on a disk with an honest fsync")
	memory := flag.String("memory", "/dev/shm", "a `DIR` in memory; empty: leave that out")
	flag.IntVar(&o.videos, "videos", 1_000_000, "how many `VIDEOS` are searched: a million take five minutes to generate and copy")
	flag.Parse()
	o.parts = strings.Split(*only, ",")
	o.places = []place{{"disk, with fsync", *disk, []string{"fsync=on", "full_page_writes=on", "max_connections=150", "shared_buffers=1GB", "max_wal_size=1GB"}}}
	if *memory != "" {
		o.places = append(o.places, place{"memory, without fsync", *memory, []string{"max_connections=150", "shared_buffers=1GB", "max_wal_size=1GB", "autovacuum_naptime=10s"}})
	}
	if err := measure(ctx, o); err != nil {
		fmt.Fprintf(os.Stderr, "scale: %v\n", err)
		os.Exit(1)
	}
}

// measure runs the requested parts one after the other, since they would disturb each other.
func measure(ctx context.Context, o options) error {
	r := &report.Report{Title: "Many machines, measured", About: about}
	var servers []server
	for _, p := range o.places {
		if err := os.Setenv("TMPDIR", p.dir); err != nil { // where the server puts its data
			return err
		}
		d, err := faulty.StartPostgres(p.settings...)
		if err != nil {
			return fmt.Errorf("start PostgreSQL: %w", err)
		}
		defer d.Stop()
		servers = append(servers, server{p.name, p.dir, d})
	}
	version, err := servers[0].Query(ctx, "SHOW server_version")
	if err != nil {
		return err
	}
	number, _, _ := strings.Cut(version[0][0], " ")
	r.Machine("PostgreSQL "+number, "pgx "+report.VersionOf("github.com/jackc/pgx/v5"))
	for _, part := range []struct {
		name string
		run  func(context.Context, []server, *report.Report) error
	}{{"takes", takes}, {"writers", writers}, {"accounts", accounts}, {"stores", func(ctx context.Context, all []server, r *report.Report) error {
		return stores(ctx, all, o.videos, r)
	}}, {"workers", workers}, {"traffic", traffic}} {
		if !slices.Contains(o.parts, part.name) {
			continue
		}
		if err := part.run(ctx, servers, r); err != nil {
			return fmt.Errorf("%s: %w", part.name, err)
		}
	}
	fmt.Print(r.Markdown())
	if !o.write {
		return nil
	}
	return r.Write(report.File)
}

// server is one PostgreSQL, and where it writes.
type server struct {
	name, dir string
	*faulty.Database
}
