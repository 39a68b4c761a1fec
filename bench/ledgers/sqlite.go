package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"time"

	_ "modernc.org/sqlite" // the ledger's driver

	"github.com/trendvidstream/ingest/bench/report"
	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/sqliteledger"
)

// place is a directory for SQLite files.
type place struct{ name, dir string }

// sqlite compares takes with the cheapest possible durable write, then lets processes share a file.
func sqlite(ctx context.Context, o options, r *report.Report) error {
	places := []place{{"disk, with fsync", o.disk}}
	if o.memory != "" {
		places = append(places, place{"memory, without fsync", o.memory})
	}
	r.Section("SQLite: takes per second", "One process. Beside it, in turns of 50 ms, one row inserted by a bare `BEGIN IMMEDIATE` transaction with the same driver and durability (WAL, synchronous full). Medians.")
	var rows [][]string
	for _, p := range places {
		bare, taken, share, err := turns(ctx, p.dir, o.batches)
		if err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		rows = append(rows, []string{p.name, fmt.Sprintf("%.0f", taken), fmt.Sprintf("%.0f", bare), report.Ratio(share)})
		r.Goal("SQLite takes, "+p.name, ">= 0.4 x a bare transaction", report.Ratio(share), share >= 0.4)
	}
	r.Table([]string{"", "takes/s", "bare rows/s", "takes/bare"}, rows)
	return processes(ctx, places, r)
}

// turns returns the medians of rows and takes per second, and of the ratio turn by turn.
func turns(ctx context.Context, parent string, n int) (bare, taken, share float64, err error) {
	dir, err := os.MkdirTemp(parent, "ledgers")
	if err != nil {
		return 0, 0, 0, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	row, closeRow, err := openBare(ctx, filepath.Join(dir, "bare.db"))
	if err != nil {
		return 0, 0, 0, err
	}
	defer func() { err = errors.Join(err, closeRow()) }()
	one, closeOne, err := openTake(ctx, filepath.Join(dir, "quota.db"))
	if err != nil {
		return 0, 0, 0, err
	}
	defer func() { err = errors.Join(err, closeOne()) }()
	t := times{}
	for range n {
		for name, call := range map[string]func(context.Context) error{"bare": row, "take": one} {
			rate, err := perSecond(ctx, 50*time.Millisecond, call)
			if err != nil {
				return 0, 0, 0, fmt.Errorf("%s: %w", name, err)
			}
			t[name] = append(t[name], rate)
		}
	}
	return report.Median(t["bare"]), report.Median(t["take"]), t.over("take", "bare"), nil
}

func perSecond(ctx context.Context, d time.Duration, call func(context.Context) error) (float64, error) {
	start, n := time.Now(), 0
	for time.Since(start) < d {
		if err := call(ctx); err != nil {
			return 0, err
		}
		n++
	}
	return float64(n) / time.Since(start).Seconds(), nil
}

// openTake returns a take of one unit from the ledger at path.
func openTake(ctx context.Context, path string) (call func(context.Context) error, closing func() error, err error) {
	l, err := sqliteledger.Open(ctx, path)
	if err != nil {
		return nil, nil, err
	}
	t := taking(l, func(a string, cost int64) quota.Ask { return ask(a, cost, plenty, "units") })
	return expect(true, func(ctx context.Context) (bool, error) { return t(ctx, "a", 1) }), l.Close, nil
}

// openBare returns a call that writes one row to the file at path, as durably as a take. If the file is busy, it waits
// as SQLite does.
func openBare(ctx context.Context, path string) (call func(context.Context) error, closing func() error, err error) {
	u := url.URL{Scheme: "file", Opaque: (&url.URL{Path: filepath.ToSlash(path)}).EscapedPath(), RawQuery: "_pragma=busy_timeout(5000)&_pragma=journal_mode(wal)&_pragma=synchronous(full)&_txlock=immediate"}
	db, err := sql.Open("sqlite", u.String())
	if err != nil {
		return nil, nil, err
	}
	db.SetMaxOpenConns(1)
	if _, err := db.ExecContext(ctx, "CREATE TABLE IF NOT EXISTS t (at INTEGER, n INTEGER)"); err != nil {
		return nil, nil, errors.Join(err, db.Close())
	}
	insert, err := db.PrepareContext(ctx, "INSERT INTO t VALUES (?, ?)")
	if err != nil {
		return nil, nil, errors.Join(err, db.Close())
	}
	return func(ctx context.Context) error {
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		if _, err := tx.StmtContext(ctx, insert).ExecContext(ctx, time.Now().UnixMicro(), 1); err != nil { //nolint:sqlclosecheck // ends with the transaction
			return errors.Join(err, tx.Rollback())
		}
		return tx.Commit()
	}, func() error { return errors.Join(insert.Close(), db.Close()) }, nil
}
