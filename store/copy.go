package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/trendvidstream/ingest"
)

// CopyOptions are optional; the zero value is ready to use.
type CopyOptions struct {
	Step int // rows written per step; 0: 1,000
	// called after each step with the rows copied of a table, or the videos indexed
	Progress func(table string, done, total int)
}

// Copied is the result of a copy: the proof that nothing is missing.
type Copied struct {
	Tables  []ingest.CopiedTable
	At      time.Time // the moment of the copy
	Plain   int       // rows with a text that had to be made Plain
	Already bool      // the target already held all of it, and nothing was written
	Written bool      // the source was written to during the copy
}

// ErrOccupied means that the target holds another store.
var ErrOccupied error = occupied("it holds another store already: give a place where none is")

type occupied string

func (o occupied) Error() string { return string(o) }

// Cause is as of VersionError.
func (occupied) Cause() string { return "other store" }

// errDiffers means that target and source differ.
var errDiffers = errors.New("they differ")

// copier copies one consistent snapshot of a store.
type copier struct {
	source *database
	from   *txn // a snapshot of source
	to     *database
	o      CopyOptions

	sums    map[string]tableSum // of the source's tables
	changed int                 // rows read whose texts were not Plain
	failed  error               // an error of the source, which the target must not explain
	result  Copied
}

// CopyInto copies a snapshot of a store into an empty one, in one transaction of the target: a copy that is cut off
// leaves it empty. Before it commits, it reads the target's tables again and compares them with the source; a
// difference is an error. A target with any other content is ErrOccupied and untouched; one with the same content is a
// success. The target must have been opened for the source's upstream.
func (s *Store) CopyInto(ctx context.Context, to *Store, o CopyOptions) (Copied, error) {
	c := &copier{source: s.database, to: to.database, o: o, sums: map[string]tableSum{}}
	c.o.Step = cmp.Or(o.Step, 1000)
	tx, err := s.read.BeginTx(ctx, nil)
	if err != nil {
		return c.result, s.explain(ctx, "copy the store", err)
	}
	defer func() { _ = tx.Rollback() }()
	c.from, c.result.At = tx, s.now()
	if err = c.sameUpstream(ctx); err == nil {
		err = c.run(ctx)
	}
	if err != nil && ctx.Err() != nil { // once ctx has ended, it is the cause
		err = fmt.Errorf("copy the store: %w", context.Cause(ctx))
	}
	if err != nil || c.result.Already {
		return c.result, err
	}
	return c.result, c.checkWritten(ctx)
}

// sameUpstream returns an UpstreamError unless both stores are for the same upstream.
func (c *copier) sameUpstream(ctx context.Context) error {
	var have, want string
	if err := readNote(ctx, c.from, "upstream", &want); err != nil {
		return c.source.explain(ctx, "read the store", err)
	}
	err := readNote(ctx, c.to.read, "upstream", &have)
	if err == nil && have != want {
		err = &UpstreamError{Have: have, Want: want, Path: c.to.path}
	}
	return c.to.explain(ctx, "look at the target", err)
}

// run copies everything, or compares it with an occupied target.
func (c *copier) run(ctx context.Context) error {
	last, err := c.source.lastBackfill(ctx, c.from)
	if err != nil {
		return c.source.explain(ctx, "read the store", err)
	}
	totals := map[string]int{} // before the transaction: PostgreSQL ends one that is idle for long
	for _, t := range copyTables {
		var n int
		if err := c.from.QueryRowContext(ctx, `SELECT count(*) FROM `+t.name).Scan(&n); err != nil {
			return c.source.explain(ctx, "read the store", err)
		}
		totals[t.name] = n
	}
	err = c.to.tx(ctx, "copy the store", func(tx *txn) error {
		if err := c.empty(ctx, tx); err != nil {
			return err
		}
		for _, t := range copyTables {
			if err := c.table(ctx, tx, t, totals[t.name]); err != nil {
				return err
			}
		}
		if err := c.index(ctx, tx); err != nil {
			return err
		}
		if err := c.compare(ctx, tx); err != nil {
			return err
		}
		return c.to.advanceSequences(ctx, tx, last)
	})
	if errors.Is(err, ErrOccupied) {
		return c.compareWhole(ctx, err)
	}
	return cmp.Or(c.failed, err)
}

// empty returns ErrOccupied if the target has any rows.
func (c *copier) empty(ctx context.Context, tx *txn) error {
	for _, t := range copyTables {
		rows, err := t.read(ctx, tx, nil, 1)
		if err != nil {
			return err
		}
		if len(rows) > 0 {
			return fmt.Errorf("%s: %w", c.to.path, ErrOccupied)
		}
	}
	return nil
}

func (c *copier) table(ctx context.Context, tx *txn, t copyTable, total int) (err error) {
	c.sums[t.name], err = c.sum(ctx, t, c.source, c.from, func(rows [][]any, done int64) error {
		if err := t.write(ctx, tx, rows); err != nil {
			return err
		}
		c.reportProgress(t.name, int(done), total)
		return nil
	})
	return err
}

// justRead is a visit for sum that writes nothing.
func justRead([][]any, int64) error { return nil }

// sum reads a table of a store in steps. It calls visit with each step's rows, in the form that the target can store,
// and with the number of rows read so far.
func (c *copier) sum(ctx context.Context, t copyTable, d *database, q querier,
	visit func(rows [][]any, done int64) error) (sum tableSum, err error) {
	for after := []any(nil); ; {
		rows, err := t.read(ctx, q, after, c.o.Step)
		if err != nil || len(rows) == 0 {
			err = d.explain(ctx, "read the table "+t.name, err)
			if d == c.source {
				c.failed = err
			}
			return sum, err
		}
		after = t.keyOf(rows[len(rows)-1])
		for _, row := range rows {
			if t.plain(row) {
				c.changed++
			}
			sum.add(row)
		}
		if err := visit(rows, sum.Rows); err != nil {
			return sum, err
		}
	}
}

func (c *copier) index(ctx context.Context, tx *txn) error {
	last := int64(0)
	for n := 0; ; {
		texts := texts{}
		err := each(ctx, tx, func(rows *sql.Rows) error {
			v, err := scanText(rows, &last)
			texts.add(last, v)
			return err
		}, selectText+`, videos.id`+fromTexts+`
			WHERE videos.id > ? ORDER BY videos.id LIMIT ?`, last, c.o.Step)
		if err != nil || len(texts) == 0 {
			return err
		}
		if err := texts.write(ctx, tx); err != nil {
			return err
		}
		n += len(texts)
		c.reportProgress("index", n, int(c.sums["video_latest"].Rows))
	}
}

// compare records each table of the target in the result; any difference from the source is an error.
func (c *copier) compare(ctx context.Context, tx *txn) error {
	c.result.Plain, c.result.Tables = c.changed, nil // from here on c.changed counts rows of the target
	for _, t := range copyTables {
		want := c.sums[t.name]
		have, err := c.sum(ctx, t, c.to, tx, justRead)
		if err != nil {
			return err
		}
		if have.Rows != want.Rows {
			return fmt.Errorf("table %s has %d rows, and its copy in %s %d: %w", t.name, want.Rows,
				c.to.path, have.Rows, errDiffers)
		}
		if have != want {
			return fmt.Errorf("table %s has the hash %s, and its copy in %s %s: %w", t.name, want, c.to.path, have, errDiffers)
		}
		c.result.Tables = append(c.result.Tables,
			ingest.CopiedTable{Table: t.name, Rows: int(have.Rows), Hash: have.String()})
	}
	var videos, indexed int
	if err := tx.QueryRowContext(ctx, `SELECT (SELECT count(*) FROM videos), (SELECT count(*) FROM video_text)`).
		Scan(&videos, &indexed); err != nil {
		return err
	}
	if videos != indexed {
		return fmt.Errorf("the index in %s has %d videos of %d: %w", c.to.path, indexed, videos, errDiffers)
	}
	return nil
}

// compareWhole returns occupied unless the target equals a copy.
func (c *copier) compareWhole(ctx context.Context, occupied error) error {
	for _, t := range copyTables {
		sum, err := c.sum(ctx, t, c.source, c.from, justRead)
		if err != nil {
			return err
		}
		c.sums[t.name] = sum
	}
	err := c.to.view(ctx, "compare the stores", func(tx *txn) error { return c.compare(ctx, tx) })
	if errors.Is(err, errDiffers) {
		return occupied
	}
	c.result.Already = err == nil
	return err
}

// checkWritten records in c.result whether the source was written to during the copy. Every write changes slots or
// backfills.
func (c *copier) checkWritten(ctx context.Context) error {
	return c.source.view(ctx, "look whether the store was written to", func(tx *txn) error {
		for _, t := range copyTables {
			if t.name != "slots" && t.name != "backfills" {
				continue
			}
			sum, err := c.sum(ctx, t, c.source, tx, justRead)
			if err != nil {
				return err
			}
			c.result.Written = c.result.Written || sum != c.sums[t.name]
		}
		return nil
	})
}

func (c *copier) reportProgress(table string, done, total int) {
	if c.o.Progress != nil {
		c.o.Progress(table, done, total)
	}
}

// lastBackfill returns the highest backfill ID ever assigned.
func (d *database) lastBackfill(ctx context.Context, tx *txn) (last int64, err error) {
	if d.engine != nil {
		return d.engine.LastBackfill(ctx, tx)
	}
	err = tx.QueryRowContext(ctx, `SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'backfills'`).Scan(&last)
	return last, err
}

// advanceSequences moves the ID sequences past the copied rows, so that no ID is assigned twice; last is the source's
// highest backfill ID.
func (d *database) advanceSequences(ctx context.Context, tx *txn, last int64) error {
	if d.engine != nil {
		return d.engine.AdvanceSequences(ctx, tx, last)
	}
	_, err := tx.ExecContext(ctx, `DELETE FROM sqlite_sequence WHERE name = 'backfills'`)
	if err == nil {
		_, err = tx.ExecContext(ctx, `INSERT INTO sqlite_sequence (name, seq) VALUES ('backfills', ?)`, last)
	}
	return err
}
