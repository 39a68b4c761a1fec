package store

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/trendvidstream/ingest"
)

// salvage reads a damaged store row by row, skipping the pages that cannot be read.
type salvage struct {
	from *sql.DB
	to   *database
	now  time.Time

	upstream string // used if the store's own cannot be read; "": not known

	kept, lost []string
}

// salvageTable is a table to move, with the columns that both stores have.
type salvageTable struct {
	name    string
	columns []string
	key     string // its primary key
	rowid   bool   // it has rowids, by which it is read
}

// run moves every table. An error is one of the new store; errors of the old one become losses.
func (s *salvage) run(ctx context.Context) error {
	tables, err := s.tables(ctx)
	if err != nil {
		return err
	}
	return s.to.tx(ctx, "fill the new store", func(tx *txn) error {
		for _, table := range tables {
			if err := s.moveTable(ctx, tx, table); err != nil {
				return err
			}
		}
		if s.upstream != "" {
			if _, err := tx.ExecContext(ctx, `INSERT OR IGNORE INTO meta (name, value) VALUES ('upstream', ?)`, s.upstream); err != nil {
				return err
			}
		}
		return s.dropOrphans(ctx, tx)
	})
}

// tables returns the tables of the new store without the index's own, parents before their children.
func (s *salvage) tables(ctx context.Context) ([]salvageTable, error) {
	tables, err := collectView(ctx, s.to, "read the schema", scanTable, `
		SELECT name, (SELECT json_group_array(name) FROM pragma_table_info(l.name)),
		       (SELECT group_concat(name ORDER BY pk) FROM pragma_table_info(l.name) WHERE pk), NOT wr
		FROM pragma_table_list AS l
		WHERE schema = 'main' AND type = 'table' AND name NOT LIKE 'sqlite\_%' ESCAPE '\'
		ORDER BY name = 'placements', name`)
	const columns = `SELECT name FROM pragma_table_info(?)`
	for i, t := range tables {
		have, err := column[string](ctx, s.from, columns, t.name)
		if err != nil {
			continue // reading the table reports it
		}
		tables[i].columns = slices.DeleteFunc(t.columns, func(c string) bool { return !slices.Contains(have, c) })
	}
	return tables, err
}

func scanTable(row scanner) (t salvageTable, err error) {
	err = row.Scan(&t.name, asJSON{&t.columns}, &t.key, &t.rowid)
	return t, err
}

// moveTable moves one table and records the outcome.
func (s *salvage) moveTable(ctx context.Context, tx *txn, t salvageTable) error {
	if len(t.columns) == 0 {
		return nil // the old version had no such table
	}
	marks := strings.TrimSuffix(strings.Repeat("?,", len(t.columns)), ",")
	w := &writer{query: fmt.Sprintf("INSERT OR IGNORE INTO %s (%s) VALUES (%s)", t.name, strings.Join(t.columns, ", "), marks), tx: tx}
	gaps, err := s.scan(ctx, t, w)
	if err != nil {
		return err
	}
	if t.name == "series" && gaps > 0 { // the index holds job and key in a tree of its own
		const query = `SELECT id, job, key FROM series INDEXED BY sqlite_autoindex_series_1`
		again := &writer{query: `INSERT OR IGNORE INTO series (id, job, key, newest) VALUES (?, ?, ?, 0)`, tx: tx}
		if _, err := s.copyRows(ctx, query, again); err != nil {
			return err
		}
		w.kept += again.kept
	}
	if gaps > 0 && t.rowid {
		kept, err := s.moveLeaves(ctx, tx, t)
		if w.kept += kept; err != nil {
			return err
		}
	}
	if w.kept > 0 {
		s.kept = append(s.kept, t.name+counted(": %d row{|s} moved", w.kept))
	}
	if gaps > 0 {
		s.lost = append(s.lost, t.name+counted(": what was on unreadable pages, in %d place{|s}", gaps))
	}
	if w.refused > 0 {
		s.lost = append(s.lost, t.name+counted(": %d row{|s} that made no sense any more", w.refused))
	}
	return nil
}

// scan reads a table around its unreadable parts; gaps is their number.
func (s *salvage) scan(ctx context.Context, t salvageTable, w *writer) (gaps int, err error) {
	list := strings.Join(t.columns, ", ")
	switch {
	case t.name == "placements":
		return s.scanPlacements(ctx, t, w)
	case !t.rowid:
		// From both ends towards the damage.
		for _, order := range []string{"", " DESC"} {
			ok, err := s.copyRows(ctx, fmt.Sprintf("SELECT %s FROM %s ORDER BY %s", list, t.name, strings.ReplaceAll(t.key, ",", order+", ")+order), w)
			if ok || err != nil {
				return gaps, err
			}
			gaps = 1
		}
		return gaps, nil
	}
	w.numbered = true
	rows := fmt.Sprintf("SELECT rowid, %s FROM %s NOT INDEXED WHERE rowid", list, t.name)
	for { // w.last only grows
		ok, err := s.copyRows(ctx, fmt.Sprintf("%s > %d ORDER BY rowid", rows, w.last), w)
		if ok || err != nil {
			return gaps, err
		}
		next, found := s.afterGap(ctx, t, w.last)
		if !found {
			return gaps + 1, ctx.Err()
		}
		if next > w.last+1 {
			gaps++
		}
		// By itself, because a driver that reads one row ahead never returns the last row before a gap.
		if _, err := s.copyRows(ctx, fmt.Sprintf("%s = %d", rows, next), w); err != nil {
			return gaps, err
		}
		w.last = max(w.last, next)
	}
}

// afterGap returns the first readable row after the gap that follows row at.
func (s *salvage) afterGap(ctx context.Context, t salvageTable, at int64) (next int64, found bool) {
	readable := func(from int64) (row int64, ok bool) {
		// Read the whole row: its key may be readable when the rest is not.
		into := make([]any, 1+len(t.columns))
		for i := range into {
			into[i] = new(any)
		}
		into[0] = &row
		query := fmt.Sprintf("SELECT rowid, %s FROM %s NOT INDEXED WHERE rowid >= ? ORDER BY rowid LIMIT 1", strings.Join(t.columns, ", "), t.name) //nolint:gosec // names of schema.sql
		err := s.from.QueryRowContext(ctx, query, from).Scan(into...)
		return row, err == nil && row >= from
	}
	step := int64(1)
	for ; step < 1<<40 && !found; step *= 2 {
		next, found = readable(at + step)
	}
	if !found {
		return 0, false
	}
	low, high := at+step/4, at+step/2 // the last probe that failed, and the first that succeeded
	for low+1 < high {
		if row, ok := readable((low + high) / 2); ok {
			next, high = row, (low+high)/2
		} else {
			low = (low + high) / 2
		}
	}
	return next, true
}

// scanPlacements reads the stored charts one by one. An incomplete chart is dropped altogether.
func (s *salvage) scanPlacements(ctx context.Context, t salvageTable, w *writer) (gaps int, err error) {
	slots, err := column[int64](ctx, w.tx, `SELECT id FROM slots WHERE kind = 'chart' ORDER BY id`)
	if err != nil {
		return 0, err
	}
	var broken []int64
	for _, slot := range slots {
		refused := w.refused
		ok, err := s.copyRows(ctx, fmt.Sprintf("SELECT %s FROM placements WHERE slot = %d ORDER BY rank", strings.Join(t.columns, ", "), slot), w)
		if err != nil {
			return gaps, err
		}
		if !ok {
			gaps++
		}
		if !ok || w.refused > refused {
			broken = append(broken, slot)
		}
	}
	return gaps, s.dropPartialCharts(ctx, w.tx, broken)
}

// dropPartialCharts drops charts of which a part is lost: half a chart must not look like a whole one. See lostCharts.
func (s *salvage) dropPartialCharts(ctx context.Context, tx *txn, slots []int64) error {
	if len(slots) == 0 {
		return nil
	}
	s.lost = append(s.lost, counted("%d chart{|s} that {was|were} not whole any more", len(slots)))
	return execEach(ctx, tx, slots,
		`DELETE FROM placements WHERE slot IN (SELECT value FROM json_each(?1))`,
		lostCharts(s.now)+`id IN (SELECT value FROM json_each(?1))`)
}

// dropOrphans deletes rows whose parent is lost. A chart with a video of which nothing is known is incomplete, and one
// that had videos but has no placements is lost: a table whose first page was replaced reads as empty.
func (s *salvage) dropOrphans(ctx context.Context, tx *txn) error {
	var nameless int
	if err := tx.QueryRowContext(ctx, `
		SELECT count(*) FROM (SELECT id FROM video_latest UNION SELECT video FROM placements) WHERE id NOT IN (SELECT id FROM video_facts)`).Scan(&nameless); err != nil {
		return err
	}
	if nameless > 0 {
		s.lost = append(s.lost, counted("video_facts: %d video{|s}, of which only counts or places are left", nameless))
	}
	if _, err := tx.ExecContext(ctx, restoreLatest(s.now)); err != nil {
		return err
	}
	broken, err := column[int64](ctx, tx, `
		SELECT DISTINCT slot FROM placements WHERE video NOT IN (SELECT id FROM video_facts) AND slot IN (SELECT id FROM slots)
		UNION
		SELECT id FROM slots
		WHERE kind = 'chart' AND state = 'done' AND videos > 0 AND due_at >= ? AND NOT EXISTS (SELECT 1 FROM placements WHERE slot = slots.id)`,
		ceilUnix(s.now.Add(-ingest.KeepFor)))
	if err != nil {
		return err
	}
	if err := s.dropPartialCharts(ctx, tx, broken); err != nil {
		return err
	}
	// A series without slots of which nothing else is known starts over.
	_, err = tx.ExecContext(ctx, `DELETE FROM series WHERE newest = 0 AND id NOT IN (SELECT series FROM slots)`)
	return err
}

// writer writes rows into the new store.
type writer struct {
	tx    *txn
	query string

	numbered      bool  // the first column read is the rowid, which is not written
	last          int64 // the largest rowid read
	kept, refused int
}

// copyRows copies the rows that a query finds, up to an unreadable one: then ok is false. An error is one of the new
// store, or of ctx.
func (s *salvage) copyRows(ctx context.Context, query string, w *writer) (ok bool, err error) {
	rows, err := s.from.QueryContext(ctx, query)
	if err != nil {
		return false, ctx.Err()
	}
	defer func() { _ = rows.Close() }()
	columns, err := rows.Columns()
	if err != nil {
		return false, ctx.Err()
	}
	values, into := make([]any, len(columns)), make([]any, len(columns))
	for i := range values {
		into[i] = &values[i]
	}
	insert, err := w.tx.PrepareContext(ctx, w.query)
	if err != nil {
		return false, err
	}
	defer func() { _ = insert.Close() }()
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return false, ctx.Err()
		}
		row := values
		if w.numbered {
			id, _ := values[0].(int64)
			w.last, row = max(w.last, id), values[1:] // rowids may go back on a damaged page
		}
		n, err := affected(insert.ExecContext(ctx, row...))
		switch {
		case isConstraint(err):
			w.refused++
		case err != nil:
			return false, err
		default:
			w.kept += n
			w.refused += 1 - n
		}
	}
	if rows.Err() != nil {
		return false, ctx.Err()
	}
	return true, nil
}
