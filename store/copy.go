package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// CopyOptions are optional in all their parts.
type CopyOptions struct {
	Step     int                              // rows that a transaction writes; 0: 1,000
	Progress func(table string, done, of int) // is told after each of them how many rows of a table are there, or videos in the index
}

// Copied is what a copy has brought.
type Copied struct {
	Tables  []CopiedTable
	At      time.Time // of when the source was copied: what was written there later is not in it
	Again   bool      // the source was not what it was when an earlier call began, so that this one has begun again
	Plain   int       // rows of which the target cannot keep a text as it is: without the bytes 0 and with valid UTF-8 it can
	Already bool      // all of it was there, and nothing was written
	Written bool      // the source was written to while it was copied
}

// CopiedTable is a table of which every row is in both.
type CopiedTable struct {
	Name string
	Rows int
	Hash string // of the rows, the same wherever they lie
}

// errDiffers is a copy that is none.
var errDiffers = errors.New("they differ")

// copier copies one unchanging state of a store.
type copier struct {
	source *database
	from   *txn // one state of it
	to     *database
	o      CopyOptions

	state  copyState
	mark   string // the state as the target has it
	plain  func(string) string
	result Copied
}

// CopyInto copies a store into one that is empty, or into which an earlier call with an equal source began to: it goes on
// there, wherever that ended. What is read is one state of the source, whoever writes to it meanwhile. At the end each
// table of the target is read again and compared with what was read of the source; where they differ, that is an error and
// the next call begins again. Until it has ended well the target is no store: whoever else opens it gets ErrCopying. A
// target with anything else is ErrOccupied, and not touched, unless it is equal: then all is well. It must have been
// opened with Options.Copying for the source's upstream.
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
	if err != nil && ctx.Err() != nil { // what fails first when it ends is of no interest
		err = fmt.Errorf("copy the store: %w", context.Cause(ctx))
	}
	if err != nil || c.result.Already {
		return c.result, err
	}
	return c.result, c.lookAgain(ctx, s)
}

// sameUpstream is an UpstreamError where the target is not for what the source has.
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

// run copies, and ends the copy.
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

// finish makes the target a store.
func (c *copier) finish(ctx context.Context, from *Store) error {
	last, err := from.lastBackfill(ctx, c.from)
	if err != nil {
		return from.explain(ctx, "read the store", err)
	}
	return c.to.tx(ctx, "end the copy", func(tx *txn) error {
		if err := c.to.filled(ctx, tx, last); err != nil {
			return err
		}
		n, err := affected(tx.ExecContext(ctx, `DELETE FROM meta WHERE name = ? AND value = ?`, copyMark, c.mark))
		if err == nil && n != 1 {
			err = errAtWork
		}
		return err
	})
}

// restart empties the target. Whoever is killed meanwhile begins with that again.
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

// tables brings every table, as far as it is not there. What is there must be what the source still has, or it is errMoved.
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
			c.tell(t.name, int(sum.Rows), of)
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

// sum reads a table of a store in steps. add is called with the rows of each, as the target can keep them.
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

// justAdd is sum's add where nothing is written.
func justAdd(sum *tableSum, rows [][]any) error {
	sum.add(rows...)
	return nil
}

// index makes the index of the videos that are there.
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
		c.tell("index", n, of)
	}
}

// verify reads the target and compares it with what was read of the source. Where they differ the next call begins again.
func (c *copier) verify(ctx context.Context) error {
	err := c.to.view(ctx, "compare the copy", func(tx *txn) error { return c.compare(ctx, tx) })
	if errors.Is(err, errDiffers) {
		c.state = copyState{Again: true}
		err = errors.Join(fmt.Errorf("%w: somebody else has written there; it is no store yet, and the next ingest store copy begins again", err),
			c.state.step(ctx, c.to, &c.mark))
	}
	return err
}

// compare notes each table of the target, which must be that of the source.
func (c *copier) compare(ctx context.Context, tx *txn) error {
	plain := c.result.Plain
	defer func() { c.result.Plain = plain }() // of the source
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

// compareWhole is occupied, unless the target is what a copy would make it.
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

// lookAgain finds whether the source was written to since it was copied: what writes to a store writes one of these tables.
func (c *copier) lookAgain(ctx context.Context, from *Store) error {
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

func (c *copier) tell(table string, done, of int) {
	if c.o.Progress != nil {
		c.o.Progress(table, done, of)
	}
}
