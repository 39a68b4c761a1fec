package main

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/trendvidstream/ingest/internal/term"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/internal/sqlitefile"
	"github.com/trendvidstream/ingest/regions"
)

// The checks of what ran and what did not.

// lately is how far back failures are told.
const lately = 24 * time.Hour

// collect is what a query on the store gives, row by row.
func collect[T any](ctx context.Context, d *doctor, scan func(*sql.Rows) (T, error), query string, args ...any) ([]T, error) {
	var out []T
	err := sqlitefile.Peek(ctx, filepath.Join(d.cfg.Data, storeFile), func(db *sql.DB) error {
		out = nil // of a first try
		rows, err := db.QueryContext(ctx, query, args...)
		if err != nil {
			return err
		}
		defer func() { _ = rows.Close() }()
		for rows.Next() {
			row, err := scan(rows)
			if err != nil {
				return err
			}
			out = append(out, row)
		}
		return rows.Err()
	})
	return out, err
}

// series is what the store knows of one region of one job.
type series struct {
	ingest.Series

	done   time.Time    // the newest slot that is done was due then
	state  ingest.State // of the newest slot that is not merely due
	reason string       // frozen in it
}

func (d *doctor) series(ctx context.Context) (map[ingest.Series]series, error) {
	rows, err := collect(ctx, d, func(rows *sql.Rows) (s series, err error) {
		var done sql.NullInt64
		err = rows.Scan(&s.Job, &s.Key, &done, &s.state, &s.reason)
		if done.Valid {
			s.done = time.Unix(done.Int64, 0).UTC()
		}
		return s, err
	}, `
		SELECT job, key, (SELECT max(due_at) FROM slots AS d WHERE d.series = series.id AND d.state = 'done'), state, reason
		FROM series JOIN slots ON slots.series = series.id
		WHERE kind <> 'backfill' AND due_at = (SELECT max(due_at) FROM slots AS n WHERE n.series = series.id AND n.state <> 'due')`)
	known := map[ingest.Series]series{}
	for _, s := range rows {
		known[s.Series] = s
	}
	return known, err
}

func lookFreshness(ctx context.Context, d *doctor) finding {
	plan, err := d.plan()
	if err != nil {
		return noLine
	}
	known, err := d.series(ctx)
	if err != nil {
		return noLine // the store has said so
	}
	now := d.clock.Now()
	var stale []string
	fresh, oldest, of := 0, time.Duration(0), ""
	for _, s := range plan {
		for _, key := range s.Keys() {
			k := ingest.Series{Job: s.Job.Name, Key: key}
			if line := known[k].stale(k, s, now); line != "" {
				stale = append(stale, line)
				continue
			}
			fresh++
			if age := now.Sub(known[k].done); age > oldest {
				oldest, of = age, name(k)
			}
		}
	}
	if len(stale) > 0 {
		const most = 8
		if n := len(stale); n > most {
			stale = append(stale[:most], fmt.Sprintf("and %d more", n-most))
		}
		return warn(fmt.Sprintf("%d stale, %d fresh; %s", len(stale), fresh, strings.Join(stale, "; ")),
			"ingest slots --region R says why; is a timer, cron or serve running?")
	}
	return fine("%d of %d fresh, the oldest is %s, due %s ago", fresh, fresh, of, term.Ago(oldest))
}

// stale says why the series is stale, "" while it is fresh: at most one of its slots waits.
func (s series) stale(k ingest.Series, plan regions.Schedule, now time.Time) string {
	if s.done.IsZero() {
		return strings.TrimSuffix(fmt.Sprintf("%s: never done, %s", name(k), s.why()), ", ")
	}
	behind := 0
	for _, slot := range plan.Between(s.done, now) {
		if slot.Key == k.Key {
			behind++
		}
	}
	if behind < 2 {
		return ""
	}
	return strings.TrimSuffix(fmt.Sprintf("%s: %s behind (%s), %s", name(k), term.Plural(behind, "slot"), term.Ago(now.Sub(s.done)), s.why()), ", ")
}

// why is the frozen reason of the newest slot.
func (s series) why() string {
	if s.state == ingest.Done || s.state == "" {
		return ""
	}
	return string(s.state) + " " + strings.ReplaceAll(s.reason, "; ", ", ")
}

// name is the region, with the job where there may be several.
func name(k ingest.Series) string {
	if k.Key == "" {
		return k.Job
	}
	return k.Job + " " + k.Key
}

func lookSlots(ctx context.Context, d *doctor) finding {
	now := d.clock.Now()
	slots, err := collect(ctx, d, func(rows *sql.Rows) (s ingest.Slot, err error) {
		var due int64
		var lease sql.NullInt64
		err = rows.Scan(&s.Job, &s.Key, &due, &s.State, &s.Owner, &lease, &s.Reason)
		s.DueAt, s.Lease = time.Unix(due, 0), time.UnixMilli(lease.Int64)
		return s, err
	}, `
		SELECT job, key, due_at, state, owner, lease, reason FROM slots JOIN series ON series.id = slots.series
		WHERE kind <> 'backfill' AND (state = 'claimed' AND lease <= ?1 OR state = 'failed' AND due_at > ?2)
		ORDER BY due_at DESC, job, key LIMIT 1000`, now.UnixMilli(), now.Add(-lately).Unix())
	if err != nil {
		return noLine
	}
	var stuck, failed []string
	for _, s := range slots {
		what := name(s.Series()) + " of " + term.Stamp(s.DueAt)
		if s.State == ingest.Claimed {
			stuck = append(stuck, fmt.Sprintf("%s: claimed by %s, its lease has been over for %s", what, s.Owner, term.Ago(now.Sub(s.Lease))))
			continue
		}
		failed = append(failed, what+": "+strings.ReplaceAll(s.Reason, "; ", ", "))
	}
	n := len(failed)
	const most = 3
	if len(stuck) > most {
		stuck = append(stuck[:most:most], "and more")
	}
	if n > most {
		failed = append(failed[:most:most], fmt.Sprintf("and %d more failed", n-most))
	}
	switch {
	case len(stuck) > 0:
		return warn(strings.Join(append(stuck, failed...), "; "), "the next ingest run takes it over; if it stays, nothing runs: see the timer, cron or serve")
	case len(failed) > 0:
		return warn(fmt.Sprintf("%d failed in the last day; %s", n, strings.Join(failed, "; ")), "ingest slots --outcome failed shows them all")
	}
	return fine("no claim is stuck, none failed in the last day")
}

// thatSpent are the slots that were due since then and spent quota, as checkLost counts them.
func (d *doctor) thatSpent(ctx context.Context, since time.Time) ([]ingest.Slot, error) {
	return collect(ctx, d, func(rows *sql.Rows) (s ingest.Slot, err error) {
		err = rows.Scan(&s.Job, &s.Key, &s.Kind, &s.Units)
		return s, err
	}, `SELECT job, key, kind, units FROM slots JOIN series ON series.id = slots.series WHERE due_at >= ? AND units > 0`, since.Unix())
}
