package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/trendvidstream/ingest/internal/sqlitefile"
)

// querier is a database, a connection or a transaction.
type querier = sqlitefile.Querier

// each runs a query and f on each of its rows.
func each(ctx context.Context, q querier, f func(*sql.Rows) error, query string, args ...any) error {
	return sqlitefile.Each(ctx, q, f, query, args...)
}

// scanner is a row that is being read.
type scanner interface{ Scan(into ...any) error }

// collect returns the rows that a query finds, each as scan reads it.
func collect[T any](ctx context.Context, q querier, scan func(scanner) (T, error), query string,
	args ...any) (all []T, err error) {
	err = each(ctx, q, func(rows *sql.Rows) error {
		one, err := scan(rows)
		all = append(all, one)
		return err
	}, query, args...)
	return all, err
}

func scanValue[T any](row scanner) (value T, err error) {
	err = row.Scan(&value)
	return value, err
}

// column returns the values that a query of one column finds.
func column[T any](ctx context.Context, q querier, query string, args ...any) ([]T, error) {
	return collect(ctx, q, scanValue[T], query, args...)
}

// pairs returns the rows of a query of two columns, the second by the first.
func pairs[K comparable, V any](ctx context.Context, q querier, query string, args ...any) (map[K]V, error) {
	all := map[K]V{}
	return all, each(ctx, q, func(rows *sql.Rows) error {
		var key K
		var value V
		err := rows.Scan(&key, &value)
		all[key] = value
		return err
	}, query, args...)
}

// execJSON runs a statement with a list as its ?1, unless the list is empty.
func execJSON[T any](ctx context.Context, tx *txn, query string, list []T, args ...any) error {
	if len(list) == 0 {
		return nil
	}
	_, err := tx.ExecContext(ctx, query, append([]any{listJSON(list)}, args...)...)
	return err
}

// execEach runs several statements with the same list, like execJSON.
func execEach[T any](ctx context.Context, tx *txn, list []T, queries ...string) error {
	for _, query := range queries {
		if err := execJSON(ctx, tx, query, list); err != nil {
			return err
		}
	}
	return nil
}

// insertSizes are the numbers of rows of one statement, few so that statements stay prepared; the first is an
// upstream's page.
var insertSizes = []int{50, 10, 1}

// insertRows writes the rows, all of one length, in as few statements as possible, which halves the cost of a row.
// head ends with VALUES, and tail follows the rows.
func insertRows(ctx context.Context, tx *txn, head, tail string, rows [][]any) error {
	return inSizes(head, tail, rows, func(query string, args ...any) error {
		_, err := tx.ExecContext(ctx, query, args...)
		return err
	})
}

// returnRows is insertRows with RETURNING in tail; it calls f for each returned row, in any order.
func returnRows(ctx context.Context, tx *txn, head, tail string, rows [][]any, f func(*sql.Rows) error) error {
	return inSizes(head, tail, rows, func(query string, args ...any) error { return each(ctx, tx, f, query, args...) })
}

func inSizes(head, tail string, rows [][]any, run func(query string, args ...any) error) error {
	for _, size := range insertSizes {
		for ; len(rows) >= size; rows = rows[size:] {
			row := ", (?" + strings.Repeat(", ?", len(rows[0])-1) + ")"
			if err := run(head+strings.Repeat(row, size)[1:]+tail, slices.Concat(rows[:size]...)...); err != nil {
				return err
			}
		}
	}
	return nil
}

// errEnough stops reading the vocabulary.
var errEnough = errors.New("enough words")

func affected(res sql.Result, err error) (int, error) {
	if err != nil {
		return 0, err
	}
	n, err := res.RowsAffected()
	return int(n), err
}

// ceilUnix returns the first whole second not before t.
func ceilUnix(t time.Time) int64 { return t.Add(time.Second - 1).Unix() }

// ceilMillis returns the first whole millisecond not before t.
func ceilMillis(t time.Time) int64 { return t.Add(time.Millisecond - 1).UnixMilli() }

var numbered = regexp.MustCompile(`\{([^|{}]*)\|([^|{}]*)\}`)

// counted puts n into a text with one %d, and replaces {is|are} by its first form if n is 1, else by its second.
func counted(text string, n int) string {
	form := "$2"
	if n == 1 {
		form = "$1"
	}
	return fmt.Sprintf(numbered.ReplaceAllString(text, form), n)
}

// asJSON is a value stored as JSON: an argument, or the target of a scan, which NULL leaves unchanged.
type asJSON struct{ value any }

// Value implements driver.Valuer.
func (j asJSON) Value() (driver.Value, error) {
	text, err := json.Marshal(j.value)
	return string(text), err
}

// Scan implements sql.Scanner.
func (j asJSON) Scan(column any) error {
	var text sql.NullString
	if err := text.Scan(column); err != nil || !text.Valid {
		return err
	}
	return json.Unmarshal([]byte(text.String), j.value)
}

// listJSON returns a list as JSON, [] if it is nil.
func listJSON[T any](list []T) asJSON {
	if list == nil {
		list = []T{}
	}
	return asJSON{list}
}

// timeColumn scans a column of numbers into a time; NULL is the zero time.
type timeColumn struct {
	to   *time.Time
	from func(int64) time.Time
}

// Scan implements sql.Scanner.
func (c timeColumn) Scan(column any) error {
	var n sql.NullInt64
	*c.to = time.Time{}
	if err := n.Scan(column); err != nil || !n.Valid {
		return err
	}
	*c.to = c.from(n.Int64).UTC()
	return nil
}

// inMillis scans a column of milliseconds.
func inMillis(to *time.Time) timeColumn { return timeColumn{to, time.UnixMilli} }

// inSeconds scans a column of seconds.
func inSeconds(to *time.Time) timeColumn {
	return timeColumn{to, func(n int64) time.Time { return time.Unix(n, 0) }}
}

// millis returns t for a column of milliseconds; the zero time is NULL.
func millis(t time.Time) sql.NullInt64 {
	return sql.NullInt64{Int64: t.UnixMilli(), Valid: !t.IsZero()}
}

// lacks is a condition on a row of pieces that brought less than the upstream has.
const lacks = `listing <> '{}' AND coalesce(listing ->> 'lack', '') <> ''`
