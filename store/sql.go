package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/trendvidstream/ingest/internal/sqlitefile"
)

// What every query is written with.

// querier is a database, a connection or a transaction.
type querier = sqlitefile.Querier

// each runs a query and f on each of its rows.
func each(ctx context.Context, q querier, f func(*sql.Rows) error, query string, args ...any) error {
	return sqlitefile.Each(ctx, q, f, query, args...)
}

// column is the values that a query of one column finds.
func column[T any](ctx context.Context, q querier, query string, args ...any) (values []T, err error) {
	err = each(ctx, q, func(rows *sql.Rows) error {
		var value T
		err := rows.Scan(&value)
		values = append(values, value)
		return err
	}, query, args...)
	return values, err
}

// execJSON runs a statement with a list as its ?1, unless that is empty.
func execJSON[T any](ctx context.Context, tx *txn, query string, list []T, args ...any) error {
	if len(list) == 0 {
		return nil
	}
	data, err := json.Marshal(list)
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, query, append([]any{string(data)}, args...)...)
	return err
}

// lookIn runs a query over a list of the upstream's ids, ?1. JSON cannot hold an id that is not valid text:
// that one is looked up separately, as an argument.
func lookIn(ctx context.Context, tx *txn, query string, ids []string, f func(*sql.Rows) error) error {
	var plain []string
	for _, id := range ids {
		if utf8.ValidString(id) && !strings.Contains(id, "\x00") {
			plain = append(plain, id)
			continue
		}
		if err := each(ctx, tx, f, strings.Replace(query, "json_each(?1)", "(SELECT ?1 AS value)", 1), id); err != nil {
			return err
		}
	}
	if len(plain) == 0 {
		return nil
	}
	list, err := json.Marshal(plain)
	if err != nil {
		return err
	}
	return each(ctx, tx, f, query, string(list))
}

// insertSizes are how many rows a statement writes. Few sizes, so that their statements stay prepared; the
// first is a page of the upstream's.
var insertSizes = []int{50, 10, 1}

// insertRows writes the rows, all of one length, in as few statements as possible: a row that shares a statement costs half
// of one that has its own. head ends with VALUES, and tail follows the rows.
func insertRows(ctx context.Context, tx *txn, head, tail string, rows [][]any) error {
	for _, size := range insertSizes {
		for ; len(rows) >= size; rows = rows[size:] {
			row := ", (?" + strings.Repeat(", ?", len(rows[0])-1) + ")"
			query := head + strings.Repeat(row, size)[1:] + tail
			if _, err := tx.ExecContext(ctx, query, slices.Concat(rows[:size]...)...); err != nil {
				return err
			}
		}
	}
	return nil
}

func affected(res sql.Result, err error) (int, error) {
	if err != nil {
		return 0, err
	}
	n, err := res.RowsAffected()
	return int(n), err
}

// millis is t for a column of milliseconds; the zero time is NULL.
func millis(t time.Time) sql.NullInt64 {
	return sql.NullInt64{Int64: t.UnixMilli(), Valid: !t.IsZero()}
}

func fromMillis(n sql.NullInt64) time.Time {
	if !n.Valid {
		return time.Time{}
	}
	return time.UnixMilli(n.Int64).UTC()
}

// ceilUnix is the first whole second that is not before t.
func ceilUnix(t time.Time) int64 {
	n := t.Unix()
	if t.Nanosecond() > 0 {
		n++
	}
	return n
}

// ceilMillis is the first whole millisecond that is not before t.
func ceilMillis(t time.Time) int64 {
	n := t.UnixMilli()
	if time.UnixMilli(n).Before(t) {
		n++
	}
	return n
}

var numbered = regexp.MustCompile(`\{([^|{}]*)\|([^|{}]*)\}`)

// counted puts n into a text with one %d, in which {is|are} is a word for one and for any other number.
func counted(text string, n int) string {
	form := "$2"
	if n == 1 {
		form = "$1"
	}
	return fmt.Sprintf(numbered.ReplaceAllString(text, form), n)
}
