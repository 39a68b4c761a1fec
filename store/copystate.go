package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// copyMark is the row of meta that a store has until a copy into it has ended. It says how far that is.
const copyMark = "copying"

// ErrCopying is a store into which another is being copied: it is none yet.
var ErrCopying = errors.New("a store is being copied there, and that has not ended: ingest store copy goes on with it")

// ErrOccupied is a store that holds something else than what is to be copied into it.
var ErrOccupied = errors.New("it holds another store already: give a place where none is")

// errMoved is a source that is not what it was when the copy was begun.
var errMoved = errors.New("the source has changed since the copy was begun")

// errAtWork is a copy that another process goes on with.
var errAtWork = errors.New("another ingest store copy is at work there: let it end")

// copyState is how far a copy is: it is written with the rows that it counts.
type copyState struct {
	Again   bool                `json:"again,omitempty"` // what is there goes first
	Done    map[string]tableSum `json:"done"`            // tables that are copied
	Table   string              `json:"table"`           // the one at work, "" between two
	Sum     tableSum            `json:"sum"`             // of its rows that are there: the first ones by their keys
	Indexed int64               `json:"indexed"`         // the last video that the index has
}

// beginCopy finds how far a copy into d is, or begins one where nothing is. mark is the row that says it. It is ErrOccupied
// where something else is.
func beginCopy(ctx context.Context, d *database) (s copyState, mark string, err error) {
	err = d.tx(ctx, "begin the copy", func(tx *txn) error {
		err := tx.QueryRowContext(ctx, `SELECT value FROM meta WHERE name = ?`, copyMark).Scan(&mark)
		switch {
		case err == nil:
			return json.Unmarshal([]byte(mark), &s)
		case !errors.Is(err, sql.ErrNoRows):
			return err
		}
		for _, t := range copyTables {
			rows, err := t.read(ctx, tx, nil, 1)
			if err != nil {
				return err
			}
			if len(rows) > 0 {
				return fmt.Errorf("%s: %w", d.path, ErrOccupied)
			}
		}
		text, err := json.Marshal(s)
		if mark = string(text); err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, `INSERT INTO meta (name, value) VALUES (?, ?)`, copyMark, mark)
		return err
	})
	if s.Done == nil {
		s.Done = map[string]tableSum{}
	}
	return s, mark, err
}

// step does all of f and writes how far the copy is then, in one transaction; mark is as it was, and becomes as it is.
// Another copy that has meanwhile gone on with it is an error, and then nothing is done.
func (s *copyState) step(ctx context.Context, d *database, mark *string, f ...func(*txn) error) error {
	return d.tx(ctx, "copy the store", func(tx *txn) error {
		for _, f := range f {
			if err := f(tx); err != nil {
				return err
			}
		}
		text, err := json.Marshal(s)
		if err != nil {
			return err
		}
		n, err := affected(tx.ExecContext(ctx, `UPDATE meta SET value = ? WHERE name = ? AND value = ?`, string(text), copyMark, *mark))
		if err == nil && n != 1 {
			err = errAtWork
		}
		if err == nil {
			*mark = string(text)
		}
		return err
	})
}

// emptyCopy takes out what an unfinished copy has brought, a few rows at a time.
func emptyCopy(ctx context.Context, d *database, n int) error {
	queries := []string{`DELETE FROM video_text WHERE rowid IN (SELECT rowid FROM video_text LIMIT ?)`}
	for i := len(copyTables) - 1; i >= 0; i-- {
		t, key, where := copyTables[i], strings.Join(copyTables[i].key, ", "), ""
		if t.where != "" {
			where = " WHERE " + t.where
		}
		queries = append(queries, fmt.Sprintf(`DELETE FROM %s WHERE (%s) IN (SELECT %s FROM %s%s LIMIT ?)`, t.name, key, key, t.name, where))
	}
	for _, query := range queries {
		for more := true; more; {
			err := d.tx(ctx, "empty what an unfinished copy has left", func(tx *txn) error {
				deleted, err := affected(tx.ExecContext(ctx, query, n))
				more = deleted > 0
				return err
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// lastBackfill is the largest number that a backfill was ever given, since none is given twice.
func (d *database) lastBackfill(ctx context.Context, tx *txn) (last int64, err error) {
	if d.engine != nil {
		return d.engine.LastBackfill(ctx, tx.Tx)
	}
	err = tx.QueryRowContext(ctx, `SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'backfills'`).Scan(&last)
	return last, err
}

// filled makes sure that no number of a row that a copy has brought is given to another, nor last to a backfill.
func (d *database) filled(ctx context.Context, tx *txn, last int64) error {
	if d.engine != nil {
		return d.engine.Filled(ctx, tx.Tx, last)
	}
	_, err := tx.ExecContext(ctx, `DELETE FROM sqlite_sequence WHERE name = 'backfills'`)
	if err == nil {
		_, err = tx.ExecContext(ctx, `INSERT INTO sqlite_sequence (name, seq) VALUES ('backfills', ?)`, last)
	}
	return err
}
