package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// CopyOptions are optional; the zero value is ready to use.
type CopyOptions struct {
	Step     int                              // rows written per transaction; 0: 1,000
	Progress func(table string, done, of int) // called after each transaction with the rows of a table, or videos in the index, that are there
}

// Copied is the result of a copy.
type Copied struct {
	Tables  []CopiedTable
	At      time.Time // the moment the copy is of: nothing written to the source later is in it
	Again   bool      // the source had changed since an earlier, unfinished call, so this one started over
	Plain   int       // rows with a text that the target cannot keep as it is: NUL bytes are removed and invalid UTF-8 replaced
	Already bool      // the target already held all of it, and nothing was written
	Written bool      // the source was written to during the copy
}

// CopiedTable is a table whose rows are all in both stores.
type CopiedTable struct {
	Name string
	Rows int
	Hash string // of the rows; the same in every database and any order
}

// errDiffers means that target and source differ.
var errDiffers = errors.New("they differ")

// copier copies one consistent snapshot of a store.
type copier struct {
	source *database
	from   *txn // a snapshot of source
	to     *database
	o      CopyOptions

	state  copyState
	mark   string // state as the target's meta row holds it
	plain  func(string) string
	result Copied
}

// CopyInto copies a store into an empty one, or resumes an earlier call that copied an equal source. It reads one
// snapshot of the source, whoever writes to it meanwhile. At the end it reads each table of the target again and
// compares it with what it read of the source; a difference is an error, and makes the next call start over. Until a
// copy succeeds the target is not usable: anyone else who opens it gets ErrCopying. A target that holds anything else
// is ErrOccupied and is not touched, unless its contents are equal: that is success. The target must have been opened
// with Options.Copying for the source's upstream.
func (s *Store) CopyInto(ctx context.Context, to *Store, o CopyOptions) (Copied, error) {
	c := &copier{source: s.database, to: to.database, o: o, plain: func(text string) string { return text }}
	c.o.Step = cmp.Or(o.Step, 1000)
	if e := to.engine; e != nil && e.Plain != nil {
		c.plain = e.Plain
	}
	tx, err := s.read.BeginTx(ctx, nil)
	if err != nil {
		return c.result, s.explain(ctx, "copy the store", err)
	}
	defer func() { _ = tx.Rollback() }()
	c.from, c.result.At = s.reads.begin(tx), s.now()
	if err = c.sameUpstream(ctx); err == nil {
		err = c.run(ctx, s)
	}
	if err != nil && ctx.Err() != nil { // which call failed first does not matter once ctx has ended
		err = fmt.Errorf("copy the store: %w", context.Cause(ctx))
	}
	if err != nil || c.result.Already {
		return c.result, err
	}
	return c.result, c.checkWritten(ctx, s)
}

// sameUpstream returns an UpstreamError unless both stores are for the same upstream.
func (c *copier) sameUpstream(ctx context.Context) error {
	var have, want identity
	if err := c.from.QueryRowContext(ctx, selectOwner).Scan(&want.upstream, &want.copying); err != nil {
		return c.source.explain(ctx, "read the store", err)
	}
	err := c.to.read.QueryRowContext(ctx, selectOwner).Scan(&have.upstream, &have.copying)
	if err == nil && have.upstream != want.upstream {
		err = &UpstreamError{Have: have.upstream, Want: want.upstream, Path: c.to.path}
	}
	return c.to.explain(ctx, "look at the target", err)
}

// run copies everything and finishes the copy.
func (c *copier) run(ctx context.Context, from *Store) (err error) {
	if c.state, c.mark, err = beginCopy(ctx, c.to); err != nil {
		if errors.Is(err, ErrOccupied) {
			return c.compareWhole(ctx, err)
		}
		return err
	}
	if err = errMoved; !c.state.Again {
		err = c.tables(ctx)
	}
	if errors.Is(err, errMoved) {
		if err = c.restart(ctx); err == nil {
			err = c.tables(ctx)
		}
	}
	if err == nil {
		err = c.index(ctx)
	}
	if err == nil {
		err = c.verify(ctx)
	}
	if err != nil {
		return err
	}
	return c.finish(ctx, from)
}

// finish turns the target into a usable store.
func (c *copier) finish(ctx context.Context, from *Store) error {
	last, err := from.lastBackfill(ctx, c.from)
	if err != nil {
		return from.explain(ctx, "read the store", err)
	}
	return c.to.tx(ctx, "end the copy", func(tx *txn) error {
		if err := c.to.advanceSequences(ctx, tx, last); err != nil {
			return err
		}
		n, err := affected(tx.ExecContext(ctx, `DELETE FROM meta WHERE name = ? AND value = ?`, copyMark, c.mark))
		if err == nil && n != 1 {
			err = errAtWork
		}
		return err
	})
}

// restart empties the target. If the process is killed meanwhile, the next call restarts too.
func (c *copier) restart(ctx context.Context) error {
	c.result.Again, c.result.Plain = true, 0
	c.state = copyState{Again: true}
	if err := c.state.step(ctx, c.to, &c.mark); err != nil {
		return err
	}
	if err := emptyCopy(ctx, c.to, c.o.Step); err != nil {
		return err
	}
	c.state = copyState{Done: map[string]tableSum{}}
	return c.state.step(ctx, c.to, &c.mark)
}

// tables copies every table, as far as it is missing; errMoved if the source no longer has the rows that are there.
func (c *copier) tables(ctx context.Context) error {
	for _, t := range copyTables {
		if err := c.table(ctx, t); err != nil {
			return err
		}
	}
	return nil
}

func (c *copier) table(ctx context.Context, t copyTable) error {
	var of int
	if err := c.from.QueryRowContext(ctx, `SELECT count(*) FROM `+t.name).Scan(&of); err != nil {
		return c.source.explain(ctx, "read the store", err)
	}
	have, whole := c.state.Done[t.name]
	if !whole && c.state.Table == t.name {
		have = c.state.Sum
	}
	sum, err := c.sum(ctx, t, c.source, c.from, func(sum *tableSum, rows [][]any) error {
		known := max(0, min(have.Rows-sum.Rows, int64(len(rows))))
		sum.add(rows[:known]...)
		if known > 0 && sum.Rows == have.Rows && *sum != have {
			return errMoved
		}
		if rows = rows[known:]; len(rows) == 0 {
			return nil
		}
		if whole {
			return errMoved
		}
		sum.add(rows...)
		c.state.Table, c.state.Sum = t.name, *sum
		err := c.state.step(ctx, c.to, &c.mark, func(tx *txn) error { return t.write(ctx, tx, rows) })
		if err == nil {
			c.reportProgress(t.name, int(sum.Rows), of)
		}
		return err
	})
	switch {
	case err != nil && !errors.Is(err, errMoved):
		return err
	case err != nil || sum.Rows < have.Rows:
		return errMoved
	}
	if !whole {
		c.state.Done[t.name], c.state.Table, c.state.Sum = sum, "", tableSum{}
	}
	return nil
}

// sum reads a table of a store in steps. It calls add with the rows of each step, in the form that the target can keep.
func (c *copier) sum(ctx context.Context, t copyTable, of *database, q querier, add func(sum *tableSum, rows [][]any) error) (sum tableSum, err error) {
	for after := []any(nil); ; {
		rows, err := t.read(ctx, q, after, c.o.Step)
		if err != nil || len(rows) == 0 {
			return sum, of.explain(ctx, "read the table "+t.name, err)
		}
		after = t.keyOf(rows[len(rows)-1])
		for _, row := range rows {
			if t.plain(row, c.plain) {
				c.result.Plain++
			}
		}
		if err := add(&sum, rows); err != nil {
			return sum, err
		}
	}
}

// justAdd is the add of sum for a read that writes nothing.
func justAdd(sum *tableSum, rows [][]any) error {
	sum.add(rows...)
	return nil
}

// index builds the search index of the copied videos.
func (c *copier) index(ctx context.Context) error {
	of := int(c.state.Done["video_latest"].Rows)
	for n := 0; ; {
		var read int
		err := c.state.step(ctx, c.to, &c.mark, func(tx *txn) error {
			w, err := newVideoWriter(ctx, tx, time.Time{}, nil)
			if err != nil {
				return err
			}
			read = 0
			err = each(ctx, tx, func(rows *sql.Rows) error {
				var id int64
				v, err := scanVideo(rows, &id)
				w.index(id, v)
				c.state.Indexed, read = id, read+1
				return err
			}, `SELECT `+videoColumns+`, videos.id FROM videos LEFT JOIN channels ON channels.id = videos.channel
				WHERE videos.id > ? ORDER BY videos.id LIMIT ?`, c.state.Indexed, c.o.Step)
			if err != nil {
				return err
			}
			return w.flush(ctx)
		})
		if err != nil || read == 0 {
			return err
		}
		n += read
		c.reportProgress("index", n, of)
	}
}

// verify compares the target with what was read of the source. A difference makes the next call start over.
func (c *copier) verify(ctx context.Context) error {
	err := c.to.view(ctx, "compare the copy", func(tx *txn) error { return c.compare(ctx, tx) })
	if errors.Is(err, errDiffers) {
		c.state = copyState{Again: true}
		err = errors.Join(fmt.Errorf("%w: somebody else has written there; it is no store yet, and the next ingest store copy begins again", err),
			c.state.step(ctx, c.to, &c.mark))
	}
	return err
}

// compare records each table of the target, which must equal the source's.
func (c *copier) compare(ctx context.Context, tx *txn) error {
	plain := c.result.Plain
	defer func() { c.result.Plain = plain }() // counts the source's rows
	c.result.Tables = nil
	for _, t := range copyTables {
		want := c.state.Done[t.name]
		have, err := c.sum(ctx, t, c.to, tx, justAdd)
		if err != nil {
			return err
		}
		if have.Rows != want.Rows {
			return fmt.Errorf("table %s has %d rows, and its copy in %s %d: %w", t.name, want.Rows, c.to.path, have.Rows, errDiffers)
		}
		if have != want {
			return fmt.Errorf("table %s has the hash %s, and its copy in %s %s: %w", t.name, want, c.to.path, have, errDiffers)
		}
		c.result.Tables = append(c.result.Tables, CopiedTable{t.name, int(have.Rows), have.String()})
	}
	var videos, indexed int
	if err := tx.QueryRowContext(ctx, `SELECT (SELECT count(*) FROM videos), (SELECT count(*) FROM video_text)`).Scan(&videos, &indexed); err != nil {
		return err
	}
	if videos != indexed {
		return fmt.Errorf("the index in %s has %d videos of %d: %w", c.to.path, indexed, videos, errDiffers)
	}
	return nil
}

// compareWhole returns occupied, unless the target holds just what a copy would.
func (c *copier) compareWhole(ctx context.Context, occupied error) error {
	for _, t := range copyTables {
		sum, err := c.sum(ctx, t, c.source, c.from, justAdd)
		if err != nil {
			return err
		}
		c.state.Done[t.name] = sum
	}
	err := c.to.view(ctx, "compare the stores", func(tx *txn) error { return c.compare(ctx, tx) })
	if errors.Is(err, errDiffers) {
		return occupied
	}
	c.result.Already = err == nil
	return err
}

// checkWritten reports in c.result whether the source was written to during the copy. Every write to a store touches
// slots or backfills.
func (c *copier) checkWritten(ctx context.Context, from *Store) error {
	return from.view(ctx, "look whether the store was written to", func(tx *txn) error {
		plain := c.result.Plain
		defer func() { c.result.Plain = plain }()
		for _, t := range copyTables {
			if t.name != "slots" && t.name != "backfills" {
				continue
			}
			sum, err := c.sum(ctx, t, c.source, tx, justAdd)
			if err != nil {
				return err
			}
			c.result.Written = c.result.Written || sum != c.state.Done[t.name]
		}
		return nil
	})
}

func (c *copier) reportProgress(table string, done, of int) {
	if c.o.Progress != nil {
		c.o.Progress(table, done, of)
	}
}
