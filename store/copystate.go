package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// ErrCopying means that a copy into the store has not finished: it is not usable yet.
var ErrCopying = errors.New("a store is being copied there, and that has not ended: ingest store copy goes on with it")

// ErrOccupied means that the target holds something other than what is to be copied into it.
var ErrOccupied = errors.New("it holds another store already: give a place where none is")

// errMoved means that the source has changed since the copy was begun.
var errMoved = errors.New("the source has changed since the copy was begun")

// errAtWork means that another process is continuing the same copy.
var errAtWork = errors.New("another ingest store copy is at work there: let it end")

// copyState is a copy's progress, saved in one transaction with the rows it counts.
type copyState struct {
	Again   bool                `json:"again,omitempty"` // the target must be emptied first
	Done    map[string]tableSum `json:"done"`            // the tables copied completely
	Table   string              `json:"table"`           // the one being copied; "" between two
	Sum     tableSum            `json:"sum"`             // of its rows copied so far: the first ones in key order
	Indexed int64               `json:"indexed"`         // the last video indexed
}

// beginCopy returns the state of the copy into d, or begins one if d is empty; mark is that state as stored. It returns
// ErrOccupied if d holds anything else.
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

// step runs every f and saves the state in the same transaction; *mark must be the state last saved. If another process
// has continued the copy meanwhile, it does nothing and returns errAtWork.
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

// emptyCopy deletes what an unfinished copy has written, n rows at a time.
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

// lastBackfill returns the highest backfill ID ever assigned: no ID is assigned twice.
func (d *database) lastBackfill(ctx context.Context, tx *txn) (last int64, err error) {
	if d.engine != nil {
		return d.engine.LastBackfill(ctx, tx.Tx)
	}
	err = tx.QueryRowContext(ctx, `SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'backfills'`).Scan(&last)
	return last, err
}

// advanceSequences moves the ID sequences past the copied rows, so that no ID is assigned twice; last is the source's
// highest backfill ID.
func (d *database) advanceSequences(ctx context.Context, tx *txn, last int64) error {
	if d.engine != nil {
		return d.engine.AdvanceSequences(ctx, tx.Tx, last)
	}
	_, err := tx.ExecContext(ctx, `DELETE FROM sqlite_sequence WHERE name = 'backfills'`)
	if err == nil {
		_, err = tx.ExecContext(ctx, `INSERT INTO sqlite_sequence (name, seq) VALUES ('backfills', ?)`, last)
	}
	return err
}
