package pgstore

import (
	"database/sql/driver"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Package store writes SQL that SQLite and Postgres both read, but for a few words. Functions and operators that
// Postgres lacks are defined in schema.sql; the rest is translated here, once for every statement.
var dialect = []struct {
	from *regexp.Regexp
	to   string
}{
	// Hints for SQLite's planner; Postgres has its statistics.
	{regexp.MustCompile(`\s(INDEXED BY \w+|NOT INDEXED)\b`), ""},
	{regexp.MustCompile(`\bCROSS JOIN (\w+(?:\([^()]*\))?(?: AS \w+)?) ON\b`), "JOIN $1 ON"},
	// A number with a point is a decimal to Postgres, and must be a double.
	{regexp.MustCompile(`(^|[\s(,])(-?\d+(?:\.\d+(?:e[+-]?\d+)?|e[+-]?\d+))`), "$1$2::float8"},
	{regexp.MustCompile(`\bgroup_concat\(`), "string_agg("}, // Postgres lets only a superuser define an aggregate of this kind
	{regexp.MustCompile(`\bvideo_text MATCH (\?\d*)`), "words @@ $1"},
	{regexp.MustCompile(`INSERT OR REPLACE INTO video_text \(rowid, title, channel, tags\)\s+SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3 FROM json_each\((\?\d*)\)`),
		`INSERT INTO video_text (rowid, words)
		SELECT CAST(video ->> 0 AS bigint), CAST(video ->> 1 AS tsvector) FROM jsonb_array_elements(CAST(vectors $1 AS jsonb)) AS video
		ON CONFLICT (rowid) DO UPDATE SET words = excluded.words`},
}

// placeholder matches the mark of an argument, or a text in quotes, which has none.
var placeholder = regexp.MustCompile(`'[^']*'|(words @@ |vectors )?\?(\d*)`)

// statement is a statement of package store's, cut where its arguments stand.
type statement struct {
	text  []string // one more than marks
	marks []int    // which of args follows each text
	args  []int    // the arguments that are used, as package store numbers them, from 0

	matches, rows map[int]bool // arguments that are expressions of FTS5, and rows of its index
	typed         bool         // its arguments need types: those of VALUES have their columns'
	untyped       string       // the whole statement without types
}

var statements sync.Map // of *statement, by their text as package store writes it

// parse translates a statement and cuts it at its arguments. Each is parsed once.
func parse(query string) *statement {
	if known, ok := statements.Load(query); ok {
		return known.(*statement)
	}
	text := query
	for _, d := range dialect {
		text = d.from.ReplaceAllString(text, d.to)
	}
	s := &statement{matches: map[int]bool{}, rows: map[int]bool{}, typed: !strings.Contains(text, "VALUES")}
	at := 0
	for _, m := range placeholder.FindAllStringSubmatchIndex(text, -1) {
		if m[4] < 0 {
			continue
		}
		arg := len(s.marks)
		if number := text[m[4]:m[5]]; number != "" {
			n, _ := strconv.Atoi(number)
			arg = n - 1
		}
		begin := m[4] - 1
		switch {
		case m[2] < 0:
		case strings.HasPrefix(text[m[2]:], "vectors"):
			s.rows[arg], begin = true, m[2]
		default:
			s.matches[arg] = true
		}
		used := slices.Index(s.args, arg)
		if used < 0 {
			used, s.args = len(s.args), append(s.args, arg)
		}
		s.text, s.marks = append(s.text, text[at:begin]), append(s.marks, used)
		at = m[5]
	}
	s.text = append(s.text, text[at:])
	s.untyped = s.write(func(int) string { return "" })
	statements.Store(query, s)
	return s
}

// translate returns a statement as Postgres reads it, with its arguments.
func translate(query string, args []driver.NamedValue) (string, []driver.NamedValue) {
	s := parse(query)
	sent := make([]driver.NamedValue, len(s.args))
	for i, arg := range s.args {
		sent[i] = driver.NamedValue{Ordinal: i + 1}
		if arg < len(args) {
			sent[i].Value = args[arg].Value
		}
		if text, ok := sent[i].Value.(string); ok {
			if s.matches[arg] {
				text = tsquery(text)
			}
			if s.rows[arg] {
				text = vectors(text)
			}
			sent[i].Value = plain(text)
		}
	}
	if !s.typed {
		return s.untyped, sent
	}
	return s.write(func(used int) string { return typeOf(sent[used].Value, s.matches[s.args[used]]) }), sent
}

// write returns the statement with the type of each argument.
func (s *statement) write(typeOf func(arg int) string) string {
	var out strings.Builder
	for i, used := range s.marks {
		out.WriteString(s.text[i])
		out.WriteByte('$')
		out.WriteString(strconv.Itoa(used + 1))
		out.WriteString(typeOf(used))
	}
	out.WriteString(s.text[len(s.marks)])
	return out.String()
}

// typeOf returns the type of an argument if Postgres would have to guess it.
func typeOf(value any, match bool) string {
	switch value.(type) {
	case int64:
		return "::bigint"
	case float64:
		return "::float8"
	case bool:
		return "::boolean"
	case string:
		if match {
			return "::text::tsquery"
		}
		return "::text"
	}
	return ""
}

// plain returns a text as Postgres can keep it: valid UTF-8 without a NUL.
func plain(text string) string {
	if strings.IndexByte(text, 0) >= 0 {
		text = strings.ReplaceAll(text, "\x00", "")
	}
	return strings.ToValidUTF8(text, "\uFFFD")
}
