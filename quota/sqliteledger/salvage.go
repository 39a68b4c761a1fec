package sqliteledger

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	sqlite3 "modernc.org/sqlite/lib"

	"github.com/trendvidstream/ingest/internal/ownfile"
	"github.com/trendvidstream/ingest/internal/sqlitefile"
	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/internal/protocol"
	"github.com/trendvidstream/ingest/quota/sharedledger"
)

// Replace makes a new file in the place of one that is gone or was moved. It has the readable rows of from, a damaged
// or older copy ("": there is none), and the rows that fill adds; lost says why some spends may be missing, "" if
// none is. The new file gets its name only when it is complete: if the process dies before, there is no file, and Open
// still refuses. No other program may have either file open.
func Replace(ctx context.Context, path, from string, fill func(l *Ledger, lost string) error) (err error) {
	left, _ := filepath.Glob(path + ".new-*") // it fails only for a bad pattern
	for _, dir := range left {
		if info, err := os.Stat(dir); err == nil && time.Since(info.ModTime()) > time.Hour { // left by a killed process
			_ = os.RemoveAll(dir)
		}
	}
	dir, err := os.MkdirTemp(filepath.Dir(path), filepath.Base(path)+".new-*")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	draft := filepath.Join(dir, filepath.Base(path))
	l, err := Open(ctx, draft)
	if err != nil {
		return err
	}
	lost := filepath.Base(path) + " is lost"
	if from != "" {
		lost, err = l.salvage(ctx, from, markBeside(path).writes)
	}
	if err == nil {
		err = fill(l, lost)
	}
	if err := errors.Join(err, l.Close()); err != nil {
		return err
	}
	if err := sqlitefile.Publish(draft, path); err != nil {
		return err
	}
	// the lost file's mark
	if err := os.Truncate(sqlitefile.LockPath(path), 0); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// salvaged lists the tables that are copied from a damaged file, each with its sort key.
var salvaged = [][2]string{
	{"accounts", "id"}, {"pools", "id"}, {"spenders", "id"}, {"entries", "pool, at, number"},
	{"operations", "id"}, {"journals", "account"}, {"zones", "account"},
}

// salvage copies the readable rows of another file into this new one, and says why some are missing; "" if none is.
// The other file had at least the given number of writes.
func (l *Ledger) salvage(ctx context.Context, from string, writes int64) (lost string, err error) {
	db, err := l.openDamaged(ctx, from)
	if err != nil {
		return "", err
	}
	defer func() { _ = db.Close() }()
	unreadable := "part of " + filepath.Base(from) + " cannot be read"
	err = l.write(ctx, func(t *transaction) error {
		for _, table := range salvaged {
			rows, whole, err := t.copyTable(ctx, db, table[0], table[1])
			if err != nil {
				return err
			}
			if table[0] == "entries" && whole { // a misplaced page is in only one of the two
				indexed := int64(0)
				err := db.QueryRowContext(ctx, `SELECT count(*) FROM entries INDEXED BY entries_by_sum`).Scan(&indexed)
				whole = err == nil && indexed == rows
			}
			if !whole {
				lost = unreadable
			}
		}
		has, host, store := int64(0), "", ""
		switch err := db.QueryRowContext(ctx, `SELECT writes, host, store FROM file`).Scan(&has, &host, &store); {
		case err != nil:
			lost = unreadable
		case has < writes:
			lost = fmt.Sprintf("%s lacks the last %d writes", filepath.Base(from), writes-has)
		}
		gaps, err := t.closeGaps()
		if gaps > 0 {
			lost = cmp.Or(lost, unreadable)
		}
		if err == nil && lost != "" {
			err = t.nameSpenders()
		}
		if err != nil || host == "" {
			return err
		}
		return t.run(`UPDATE file SET host = ?, store = ?`, host, store)
	})
	return lost, err
}

// openDamaged opens a copy, beside this file, of another file. If the copy's first page cannot be read, it gets the
// first page of this new file, since the tables begin at the same pages.
func (l *Ledger) openDamaged(ctx context.Context, from string) (*sql.DB, error) {
	f, err := ownfile.Open(from, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	var db *sql.DB
	for _, size := range []int64{sqlitefile.HeaderSize, sqlitefile.PageSize} {
		to := fmt.Sprintf("%s-from%d", l.path, size)
		if err := sqlitefile.CopyReadable(f, to, l.path, size); err != nil {
			return nil, err
		}
		// writable_schema lets SQLite read a truncated file, and a damaged schema.
		if db, err = sqlitefile.Open(to, 1, "_pragma=cell_size_check(1)", "_pragma=writable_schema(1)"); err != nil {
			return nil, err
		}
		tables := 0
		err := db.QueryRowContext(ctx, `SELECT count(*) FROM sqlite_schema
			WHERE name IN ('accounts', 'pools', 'spenders', 'entries', 'operations', 'journals')`).Scan(&tables)
		if err == nil && tables == len(salvaged) || size == sqlitefile.PageSize {
			break
		}
		_ = db.Close()
	}
	return db, nil
}

// copyTable copies the rows of a table from both ends towards the unreadable part, counts them, and reports whether
// it read the whole table.
func (t *transaction) copyTable(ctx context.Context, from *sql.DB,
	table, key string) (rows int64, whole bool, err error) {
	query := "SELECT * FROM " + table + " ORDER BY " + key
	if rows, whole, err = t.copyRows(ctx, from, table, query); whole || err != nil {
		return rows, whole, err
	}
	more, _, err := t.copyRows(ctx, from, table, strings.ReplaceAll(query+" DESC", ",", " DESC,"))
	return rows + more, false, err
}

// copyRows copies the rows of a query up to one that cannot be read. An error comes from this file or from ctx.
func (t *transaction) copyRows(ctx context.Context, from *sql.DB,
	table, query string) (n int64, whole bool, err error) {
	rows, err := from.QueryContext(ctx, query)
	if err != nil {
		return 0, false, ctx.Err()
	}
	defer func() { _ = rows.Close() }()
	columns, err := rows.Columns()
	if err != nil {
		return 0, false, ctx.Err()
	}
	values, into := make([]any, len(columns)), make([]any, len(columns))
	for i := range values {
		into[i] = &values[i]
	}
	insert := fmt.Sprintf("INSERT OR IGNORE INTO %s (%s) VALUES (?%s)", table, strings.Join(columns, ", "),
		strings.Repeat(", ?", len(columns)-1))
	for ; rows.Next(); n++ {
		if err := rows.Scan(into...); err != nil {
			return n, false, ctx.Err()
		}
		if _, err := t.exec(insert, values...); err != nil && sqlitefile.Code(err) != sqlite3.SQLITE_CONSTRAINT {
			return n, false, t.ledger.explain("write", err)
		}
		t.changed = true
	}
	return n, rows.Err() == nil, ctx.Err()
}

// nameSpenders moves the spends of a lost spender to Unattributed.
func (t *transaction) nameSpenders() error {
	id, err := t.spenderID(sharedledger.Unattributed)
	for _, table := range []string{"entries", "operations"} {
		err = cmp.Or(err, t.run("UPDATE "+table+" SET spender = ? WHERE spender NOT IN (SELECT id FROM spenders)", id))
	}
	return err
}

// closeGaps enters amounts that the log's running totals show and its entries lack, at the time of the following
// entry, and returns the number of gaps. Sums begin anew with the oldest entry.
func (t *transaction) closeGaps() (gaps int, err error) {
	names, err := list(t, `SELECT name FROM accounts`, nil,
		func(r *sql.Rows) (name string, err error) { return name, r.Scan(&name) })
	if err != nil {
		return 0, err
	}
	type gap struct {
		pool       string
		at, amount int64
	}
	for _, name := range names {
		acc, err := t.account(name)
		if err != nil {
			return 0, err
		}
		lacks, err := list(t, sqlGapsOf, []any{acc.id},
			func(r *sql.Rows) (g gap, err error) { return g, r.Scan(&g.pool, &g.at, &g.amount) })
		if err != nil || len(lacks) == 0 {
			return gaps, err
		}
		if err := t.run(sqlSum, acc.id); err != nil {
			return 0, err
		}
		if acc, err = t.account(name); err != nil {
			return 0, err
		}
		for _, g := range lacks {
			row := sharedledger.Row{Who: sharedledger.Unattributed, Amounts: quota.Cost{g.pool: g.amount},
				At: protocol.Time(g.at)}
			if err := t.enter(acc, quota.Ask{Account: name}, row, row.At); err != nil {
				return 0, err
			}
		}
		gaps += len(lacks)
	}
	return gaps, nil
}
