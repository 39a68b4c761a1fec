package store

import (
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"time"
)

// asJSON is a value kept in a column as JSON, either an argument or the target of a scan. NULL leaves the value as it
// is.
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
