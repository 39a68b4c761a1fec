package store

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
)

// copyTable describes a table that CopyInto reads and writes.
type copyTable struct {
	name    string
	key     []string // a unique key; the rows are read in its order
	columns []string // all columns to copy, including the key's columns
	json    []string // columns that hold JSON
	yesNo   []string // boolean columns, which SQLite keeps as 1 or 0
	where   string   // a condition on the rows; "": all
}

// ownRows excludes rows of meta that every store has of its own.
const ownRows = `name NOT IN ('upstream', 'version', '` + idleNote + `')`

// copyTables lists every table except the index, which is built from them; referenced tables come first.
var copyTables = []copyTable{
	{name: "meta", key: []string{"name"}, columns: []string{"name", "value"}, where: ownRows},
	{name: "backfills", key: []string{"id"}, json: []string{"spec", "confirmed", "charged"},
		yesNo: []string{"wait", "ready"},
		columns: []string{"id", "name", "kind", "identity", "spec", "cost_table", "wait", "created_at",
			"cancelled_at", "ready", "confirmed", "charged"}},
	{name: "series", key: []string{"id"},
		columns: []string{"id", "job", "key", "newest", "open", "fresh_at", "backfill", "place"}},
	{name: "slots", key: []string{"id"}, json: []string{"charges", "emergency"},
		columns: []string{"id", "series", "due_at", "kind", "state", "owner", "attempt", "lease",
			"token", "token_at", "pages", "videos",
			"units", "charges", "emergency", "reason", "retry_at", "fetched_at", "tries", "usual", "count", "first_due_at"}},
	{name: "pieces", key: []string{"slot"}, json: []string{"spec", "waiting", "listing"},
		columns: []string{"slot", "backfill", "spec", "waiting", "known", "again", "listing", "unsaved", "lost"}},
	{name: "vanished", key: []string{"video_id", "slot"}, columns: []string{"video_id", "slot", "reason", "noted_at"}},
	{name: "channels", key: []string{"id"}, columns: []string{"id", "channel_id", "title"}},
	{name: "video_facts", key: []string{"id"}, json: []string{"tags"}, yesNo: []string{"live"},
		columns: []string{"id", "video_id", "text_hash", "facts_hash", "fetched_day", "channel",
			"published_at", "duration_s", "live",
			"category", "language", "thumbnail", "title", "tags", "gone"}},
	{name: "descriptions", key: []string{"video"}, columns: []string{"video", "text"}},
	{name: "video_latest", key: []string{"id"},
		columns: []string{"id", "fetched_at", "seen_at", "views", "likes", "comments", "counted_at", "upkeep"}},
	{name: "absences", key: []string{"video"}, columns: []string{"video", "asked_at", "since"}},
	{name: "video_blocks", key: []string{"id"}, columns: []string{"id", "bytes"}},
	{name: "placements", key: []string{"slot", "rank"},
		columns: []string{"slot", "rank", "video", "series", "views", "likes", "comments"}},
	{name: "categories", key: []string{"region", "id"}, columns: []string{"region", "id", "name"}},
	{name: "named", key: []string{"region"}, columns: []string{"region", "named_at"}},
	{name: "events", key: []string{"id"}, json: []string{"data"}, columns: []string{"id", "key", "name", "at", "data"}},
	{name: "absent_charts", key: []string{"region", "category"}, columns: []string{"region", "category", "until"}},
}

// read returns up to n rows after a key (nil: from the first), in key order. A value is an int64, a string, bytes or
// nil.
func (t copyTable) read(ctx context.Context, q querier, after []any, n int) ([][]any, error) {
	conditions, args := []string{}, slices.Clone(after)
	if t.where != "" {
		conditions = append(conditions, t.where)
	}
	if after != nil {
		conditions = append(conditions, fmt.Sprintf("(%s) > (%s)", strings.Join(t.key, ", "), marks(len(after))))
	}
	query := "SELECT " + strings.Join(t.columns, ", ") + " FROM " + t.name
	if len(conditions) > 0 {
		query += " WHERE " + strings.Join(conditions, " AND ")
	}
	query += " ORDER BY " + strings.Join(t.key, ", ") + " LIMIT ?"
	var all [][]any
	return all, each(ctx, q, func(rows *sql.Rows) error {
		row, into := make([]any, len(t.columns)), make([]any, len(t.columns))
		for i := range row {
			into[i] = &row[i]
		}
		err := rows.Scan(into...)
		for i, value := range row {
			if yes, ok := value.(bool); ok {
				row[i] = map[bool]int64{true: 1}[yes]
			}
		}
		all = append(all, row)
		return err
	}, query, append(args, n)...)
}

func marks(n int) string { return strings.TrimSuffix(strings.Repeat("?, ", n), ", ") }

func (t copyTable) keyOf(row []any) []any {
	key := make([]any, len(t.key))
	for i, name := range t.key {
		key[i] = row[slices.Index(t.columns, name)]
	}
	return key
}

func (t copyTable) write(ctx context.Context, tx *txn, rows [][]any) error {
	sent := make([][]any, len(rows))
	for i, row := range rows {
		sent[i] = slices.Clone(row)
		for _, name := range t.yesNo {
			at := slices.Index(t.columns, name)
			sent[i][at] = row[at] != int64(0)
		}
	}
	err := insertRows(ctx, tx, "INSERT INTO "+t.name+" ("+strings.Join(t.columns, ", ")+") VALUES", "", sent)
	if err != nil {
		err = fmt.Errorf("write the table %s: %w", t.name, err)
	}
	return err
}

// plain makes a row's texts Plain, and reports whether any changed.
func (t copyTable) plain(row []any) (changed bool) {
	for i, value := range row {
		text, _ := value.(string)
		kept := Plain(text)
		if slices.Contains(t.json, t.columns[i]) {
			kept = withoutNUL.Replace(kept)
		}
		if kept != text {
			row[i], changed = kept, true
		}
	}
	return changed
}

// withoutNUL removes NULs from JSON, but keeps escaped backslashes.
var withoutNUL = strings.NewReplacer(`\\`, `\\`, `\u0000`, "")

// tableSum is a table's number of rows and a hash of them in any order: the sum of their SHA-256 hashes, each taken as
// four numbers, with overflow.
type tableSum struct {
	Rows int64
	Hash [4]uint64
}

// add adds a row in Go's syntax, which is different for different rows.
func (s *tableSum) add(row []any) {
	hash := sha256.Sum256(fmt.Appendf(nil, "%#v", row))
	s.Rows++
	for i := range s.Hash {
		s.Hash[i] += binary.BigEndian.Uint64(hash[8*i:])
	}
}

// String returns the hash in hexadecimal.
func (s tableSum) String() string {
	return fmt.Sprintf("%016x%016x%016x%016x", s.Hash[0], s.Hash[1], s.Hash[2], s.Hash[3])
}
