package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/trendvidstream/ingest/bench/report"
	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/sharedledger"
	"github.com/trendvidstream/ingest/quota/sqliteledger"
)

// shared measures a take by a host that shares a ledger in Redis: written to its journal, then asked for.
func shared(ctx context.Context, s *server, o options, r *report.Report) error {
	places := []place{{"disk, with fsync", o.disk}}
	if o.memory != "" {
		places = append(places, place{"memory, without fsync", o.memory})
	}
	r.Section("A shared ledger: one take, the journal and Redis together", fmt.Sprintf(
		"One process, one take after the other over loopback, by the clock; the median of %d batches of %d.", o.batches, callsPerBatch))
	var rows [][]string
	for _, p := range places {
		us, err := sharedTakes(ctx, s, p.dir, o.batches)
		if err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		rows = append(rows, []string{p.name, fmt.Sprintf("%.0f", us)})
		if p.dir == o.memory {
			r.Goal("a shared take, its journal in memory", "<= 150 µs", fmt.Sprintf("%.0f µs", us), us <= 150)
		}
	}
	r.Table([]string{"journal", "µs a take"}, rows)
	return flush(ctx, s.client)
}

// sharedTakes returns the median time of a take, in microseconds.
func sharedTakes(ctx context.Context, s *server, parent string, batches int) (us float64, err error) {
	if err := flush(ctx, s.client); err != nil {
		return 0, err
	}
	dir, err := os.MkdirTemp(parent, "ledgers")
	if err != nil {
		return 0, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	journal, err := sqliteledger.Open(ctx, filepath.Join(dir, "quota.db"))
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, journal.Close()) }()
	remote, err := openOurs(ctx, s.url())
	if err != nil {
		return 0, err
	}
	tariff := &quota.Tariff{Zone: time.UTC, Grace: 30 * time.Second, Failure: quota.Failure{SyncWait: time.Minute}, Pools: []quota.Pool{{Name: "units"}}}
	l, err := sharedledger.Open(tariff, remote, journal, 1)
	if err != nil {
		return 0, errors.Join(err, remote.Close())
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	take := expect(true, func(ctx context.Context) (bool, error) {
		d, err := l.Take(ctx, ask("default", 1, plenty, "units"))
		return d.Allowed, err
	})
	var all []float64
	for range batches + 1 {
		start := time.Now()
		for range callsPerBatch {
			if err := take(ctx); err != nil {
				return 0, err
			}
		}
		all = append(all, float64(time.Since(start).Microseconds())/callsPerBatch)
	}
	return report.Median(all[1:]), nil // the first begins the generation
}
