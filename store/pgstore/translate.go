package pgstore

import (
	"database/sql/driver"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/trendvidstream/ingest/store"
)

// Package store writes SQL that SQLite and Postgres both read, except for a few words. schema.sql defines functions
// and operators that Postgres lacks; the rest is translated here, once per statement.
var dialect = []struct {
	from *regexp.Regexp
	to   string
}{
	// Hints for SQLite's planner.
	{regexp.MustCompile(`\s(INDEXED BY \w+|NOT INDEXED)\b`), ""},
	{regexp.MustCompile(`\bCROSS JOIN (\w+(?:\([^()]*\))?(?: AS \w+)?) ON\b`), "JOIN $1 ON"},
	// Postgres reads a number with a point as a decimal; it must be a double.
	{regexp.MustCompile(`(^|[\s(,])(-?\d+(?:\.\d+(?:e[+-]?\d+)?|e[+-]?\d+))`), "$1$2::float8"},
	{regexp.MustCompile(`\bgroup_concat\(`), "string_agg("}, // only a superuser can define such an aggregate in Postgres
	{regexp.MustCompile(`\bvideo_text MATCH (\?\d*)`), "words @@ fts $1::tsquery"},
	{regexp.MustCompile(`(?s)^INSERT OR IGNORE INTO words .*`), ""}, // a trigger counts the words
	{
		regexp.MustCompile(
			`INSERT OR REPLACE INTO video_text \(rowid, title, channel, tags, description\)\s+` +
				`SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4 FROM json_each\((\?\d*)\)`),
		`INSERT INTO video_text (rowid, words)
		SELECT CAST(video ->> 0 AS bigint), CAST(video ->> 1 AS tsvector)
			FROM jsonb_array_elements(CAST(vectors $1 AS jsonb)) AS video
		ON CONFLICT (rowid) DO UPDATE SET words = excluded.words`},
}

// placeholder matches the mark of an argument, or a quoted text, to skip it.
var placeholder = regexp.MustCompile(`'[^']*'|(?:fts |vectors )?\?\d*`)

// conversions convert arguments that the databases read differently, by the word before their mark.
var conversions = map[string]func(string) string{"fts ": tsquery, "vectors ": vectors}

type statement struct {
	text     string
	args     []int                 // its arguments, by package store's numbers from 0
	converts []func(string) string // for each argument; nil: unchanged
}

// statementOf is a statement of package store, with a letter for the type of each argument.
type statementOf struct{ query, types string }

var statements sync.Map // *statement by statementOf

// casts tell Postgres the types of arguments that it would have to guess.
var casts = map[byte]string{'i': "::bigint", 'f': "::float8", 'b': "::boolean", 't': "::text"}

func typeOf(value any) byte {
	switch value.(type) {
	case int64:
		return 'i'
	case float64:
		return 'f'
	case bool:
		return 'b'
	case string:
		return 't'
	}
	return ' '
}

// translate returns a statement for Postgres, with its arguments.
func translate(query string, args []driver.NamedValue) (string, []driver.NamedValue) {
	key := statementOf{query: query}
	if !strings.Contains(query, "VALUES") { // there arguments have the types of their columns
		types := make([]byte, len(args))
		for i, arg := range args {
			types[i] = typeOf(arg.Value)
		}
		key.types = string(types)
	}
	known, ok := statements.Load(key)
	if !ok {
		known, _ = statements.LoadOrStore(key, key.translate())
	}
	s := known.(*statement)
	sent := make([]driver.NamedValue, len(s.args))
	for i, arg := range s.args {
		sent[i] = driver.NamedValue{Ordinal: i + 1}
		if arg < len(args) {
			sent[i].Value = args[arg].Value
		}
		if text, ok := sent[i].Value.(string); ok {
			if convert := s.converts[i]; convert != nil {
				text = convert(text)
			}
			sent[i].Value = store.Plain(text)
		}
	}
	return s.text, sent
}

func (key statementOf) translate() *statement {
	text, marks, s := key.query, 0, &statement{}
	for _, d := range dialect {
		text = d.from.ReplaceAllString(text, d.to)
	}
	s.text = placeholder.ReplaceAllStringFunc(text, func(mark string) string {
		if mark[0] == '\'' {
			return mark
		}
		word, number, _ := strings.Cut(mark, "?")
		arg := marks
		if n, err := strconv.Atoi(number); err == nil {
			arg = n - 1
		}
		marks++
		used := slices.Index(s.args, arg)
		if used < 0 {
			used, s.args, s.converts = len(s.args), append(s.args, arg), append(s.converts, conversions[word])
		}
		cast := ""
		if arg < len(key.types) {
			cast = casts[key.types[arg]]
		}
		return fmt.Sprint("$", used+1, cast)
	})
	return s
}
