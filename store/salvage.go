package store

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"

	"github.com/trendvidstream/ingest"
)

// salvage reads a damaged store table by table, leaving out unreadable rows.
type salvage struct {
	from *sql.DB
	to   *database
	now  time.Time

	upstream string // used if the store's own cannot be read; "": not known

	kept, lost []string
}

// run moves every table. It returns errors of the new store; errors of the old one become losses.
func (s *salvage) run(ctx context.Context) error {
	return s.to.tx(ctx, "fill the new store", func(tx *txn) error {
		for _, table := range copyTables {
			if err := s.moveTable(ctx, tx, table); err != nil {
				return err
			}
		}
		if s.upstream != "" {
			if _, err := tx.ExecContext(ctx, `INSERT OR IGNORE INTO meta (name, value) VALUES ('upstream', ?)`,
				s.upstream); err != nil {
				return err
			}
		}
		return s.dropOrphans(ctx, tx)
	})
}

func (s *salvage) moveTable(ctx context.Context, tx *txn, t copyTable) error {
	w := &writer{query: fmt.Sprintf("INSERT OR IGNORE INTO %s (%s) VALUES (%s)", t.name, strings.Join(t.columns, ", "),
		marks(len(t.columns))), tx: tx}
	scan := s.scan
	if t.name == "placements" {
		scan = s.scanPlacements
	}
	whole, err := scan(ctx, t, w)
	if err != nil {
		return err
	}
	if !whole {
		s.lost = append(s.lost, t.name+": the rows on unreadable pages")
	}
	if w.kept > 0 {
		s.kept = append(s.kept, t.name+counted(": %d row{|s} moved", w.kept))
	}
	if w.refused > 0 {
		s.lost = append(s.lost, t.name+counted(": %d row{|s} that made no sense any more", w.refused))
	}
	return nil
}

// scan reads a table to its end or, if that is unreachable, from both ends towards the damage; whole reports that
// there is no damage. Between damaged pages it finds rows by their numbers, in growing leaps.
func (s *salvage) scan(ctx context.Context, t copyTable, w *writer) (whole bool, err error) {
	query := fmt.Sprintf("SELECT %s FROM %s", strings.Join(t.columns, ", "), t.name)
	if whole, err = s.copyRows(ctx, query+" ORDER BY "+strings.Join(t.key, ", "), w); whole || err != nil {
		return whole, err
	}
	again := &writer{query: w.query, tx: w.tx, last: w.last} // a row read twice is not lost
	if at, numbered := w.last.(int64); numbered && len(t.key) == 1 {
		for leap := int64(1); leap < 1<<40 && !whole; leap *= 2 {
			again.last = nil
			if whole, err = s.copyRows(ctx,
				fmt.Sprintf("%s WHERE %s > %d ORDER BY %[2]s", query, t.key[0], at+leap), again); err != nil {
				return false, err
			}
			if next, ok := again.last.(int64); ok && next > at { // on a damaged page numbers may fall: never go back
				at, leap = next, 1
			}
		}
	}
	_, err = s.copyRows(ctx, query+" ORDER BY "+strings.Join(t.key, " DESC, ")+" DESC", again)
	w.kept += again.kept
	if err == nil && t.name == "series" { // job and key are also in an index
		named := &writer{tx: w.tx, query: `
			INSERT OR IGNORE INTO series (id, job, key, newest, backfill, place)
			VALUES (?1, ?2, ?3, 0, iif(?2 LIKE 'backfill/bf-%', CAST(substr(?2, 13) AS INTEGER), NULL),
				iif(?2 LIKE 'backfill/bf-%', ?1, NULL))`}
		_, err = s.copyRows(ctx, `SELECT id, job, key FROM series INDEXED BY sqlite_autoindex_series_1`, named)
		w.kept += named.kept
	}
	return false, err
}

// scanPlacements reads the charts one by one, and drops incomplete ones.
func (s *salvage) scanPlacements(ctx context.Context, t copyTable, w *writer) (whole bool, err error) {
	slots, err := column[int64](ctx, w.tx, `SELECT id FROM slots WHERE kind = 'chart' ORDER BY id`)
	if err != nil {
		return false, err
	}
	var broken []int64
	whole = true
	for _, slot := range slots {
		refused := w.refused
		ok, err := s.copyRows(ctx, fmt.Sprintf("SELECT %s FROM placements WHERE slot = %d ORDER BY rank",
			strings.Join(t.columns, ", "), slot), w)
		if err != nil {
			return false, err
		}
		whole = whole && ok
		if !ok || w.refused > refused {
			broken = append(broken, slot)
		}
	}
	return whole, s.dropPartialCharts(ctx, w.tx, broken)
}

// dropPartialCharts drops charts that lost a part, as they must not look complete. See lostCharts.
func (s *salvage) dropPartialCharts(ctx context.Context, tx *txn, slots []int64) error {
	if len(slots) == 0 {
		return nil
	}
	s.lost = append(s.lost, counted("%d chart{|s} that {was|were} no longer complete", len(slots)))
	return execEach(ctx, tx, slots,
		`DELETE FROM placements WHERE slot IN (SELECT value FROM json_each(?1))`,
		lostCharts+`id IN (SELECT value FROM json_each(?1))`)
}

// dropOrphans deletes rows whose parent is lost. A chart with an unknown video is incomplete; one that had videos but
// has no placements is lost, since a table whose first page was replaced reads as empty.
func (s *salvage) dropOrphans(ctx context.Context, tx *txn) error {
	var nameless int
	if err := tx.QueryRowContext(ctx, `
		SELECT count(*) FROM (SELECT id FROM video_latest UNION SELECT video FROM placements)
			WHERE id NOT IN (SELECT id FROM video_facts)`).Scan(&nameless); err != nil {
		return err
	}
	if nameless > 0 {
		s.lost = append(s.lost, counted("video_facts: %d video{|s}, with only counts or places left", nameless))
	}
	if _, err := tx.ExecContext(ctx, restoreLatest, s.now.UnixMilli()); err != nil {
		return err
	}
	broken, err := column[int64](ctx, tx, `
		SELECT DISTINCT slot FROM placements WHERE video NOT IN (SELECT id FROM video_facts)
			AND slot IN (SELECT id FROM slots)
		UNION
		SELECT id FROM slots
		WHERE kind = 'chart' AND state = 'done' AND videos > 0 AND due_at >= ?
			AND NOT EXISTS (SELECT 1 FROM placements WHERE slot = slots.id)`,
		ceilUnix(s.now.Add(-ingest.KeepFor)))
	if err != nil {
		return err
	}
	if err := s.dropPartialCharts(ctx, tx, broken); err != nil {
		return err
	}
	// A series with nothing left but its name starts over.
	_, err = tx.ExecContext(ctx, `DELETE FROM series WHERE newest = 0 AND id NOT IN (SELECT series FROM slots)`)
	return err
}

// writer writes rows into the new store.
type writer struct {
	tx    *txn
	query string

	last          any // the first column of the row that was read last
	kept, refused int
}

// copyRows copies a query's rows up to an unreadable one: then ok is false. An error is one of the new store, or of
// ctx.
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
		w.last = values[0]
		n, err := affected(insert.ExecContext(ctx, values...))
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
