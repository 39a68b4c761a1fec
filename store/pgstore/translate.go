package pgstore

import (
	"database/sql/driver"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Package store writes SQL that SQLite and Postgres both read, but for a few words. What is a function or an operator
// is defined in schema.sql; the rest is translated here, once for every statement.
var dialect = []struct {
	from *regexp.Regexp
	to   string
}{
	// Hints of how to walk: Postgres knows from its statistics.
	{regexp.MustCompile(`\s(INDEXED BY \w+|NOT INDEXED)\b`), ""},
	{regexp.MustCompile(`\bCROSS JOIN (\w+(?:\([^()]*\))?(?: AS \w+)?) ON\b`), "JOIN $1 ON"},
	// A number with a point is no decimal, but a double.
	{regexp.MustCompile(`(^|[\s(,])(-?\d+(?:\.\d+(?:e[+-]?\d+)?|e[+-]?\d+))`), "$1$2::float8"},
	{regexp.MustCompile(`\bvideo_text MATCH (\?\d*)`), "words @@ $1"},
	{regexp.MustCompile(`INSERT OR REPLACE INTO video_text \(rowid, title, channel, tags\)\s+SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3 (FROM .*)`),
		`INSERT INTO video_text (rowid, words)
		SELECT CAST(value ->> 0 AS bigint), words(value ->> 1, value ->> 2, value ->> 3) $1
		ON CONFLICT (rowid) DO UPDATE SET words = excluded.words`},
}

// placeholder is an argument, or a text in quotes, which has none.
var placeholder = regexp.MustCompile(`'[^']*'|(words @@ )?\?(\d*)`)

// statement is a statement of package store's, cut where its arguments stand.
type statement struct {
	text  []string // one more than marks
	marks []int    // which of args stands behind each text
	args  []int    // the arguments that are used, as package store numbers them, from 0

	matches map[int]bool // arguments that are expressions of FTS5
	typed   bool         // its arguments need types: those of VALUES have their columns'
}

var statements sync.Map // of *statement, by their text as package store writes it

// parse reads a statement.
func parse(query string) *statement {
	if known, ok := statements.Load(query); ok {
		return known.(*statement)
	}
	text := query
	for _, d := range dialect {
		text = d.from.ReplaceAllString(text, d.to)
	}
	s := &statement{matches: map[int]bool{}, typed: !strings.Contains(text, "VALUES")}
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
		if m[2] >= 0 {
			s.matches[arg] = true
		}
		used := slices.Index(s.args, arg)
		if used < 0 {
			used, s.args = len(s.args), append(s.args, arg)
		}
		s.text, s.marks = append(s.text, text[at:m[4]-1]), append(s.marks, used)
		at = m[5]
	}
	s.text = append(s.text, text[at:])
	statements.Store(query, s)
	return s
}

// translate is a statement as Postgres reads it, with its arguments.
func translate(query string, args []driver.NamedValue) (string, []driver.NamedValue) {
	s := parse(query)
	var out strings.Builder
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
			sent[i].Value = plain(text)
		}
	}
	for i, used := range s.marks {
		fmt.Fprintf(&out, "%s$%d", s.text[i], used+1)
		if s.typed {
			out.WriteString(typeOf(sent[used].Value, s.matches[s.args[used]]))
		}
	}
	out.WriteString(s.text[len(s.marks)])
	return out.String(), sent
}

// typeOf is the type of an argument where Postgres would have to guess it.
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

// plain is a text as Postgres can keep it: valid UTF-8 without a NUL.
func plain(text string) string {
	if strings.IndexByte(text, 0) >= 0 {
		text = strings.ReplaceAll(text, "\x00", "")
	}
	return strings.ToValidUTF8(text, "\uFFFD")
}
