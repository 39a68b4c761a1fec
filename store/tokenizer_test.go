package store_test

import (
	"database/sql"
	"strings"
	"testing"
	"unicode"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/store/text"
)

// The index's tokenizer must part the output of Normalize at its spaces and nowhere else, for every character that
// either knows.
func TestTheTokenizerKeepsEveryToken(t *testing.T) { keepsTokens(t, 17, 5000) }

func TestLongTheTokenizerKeepsEveryToken(t *testing.T) { keepsTokens(t, 1, 100_000) }

// keepsTokens stores the tokens of every stride-th character; fewer than least tokens are an error.
func keepsTokens(t *testing.T, stride rune, least int) {
	t.Helper()
	var all strings.Builder
	want := map[string]bool{}
	for r := rune(1); r <= unicode.MaxRune; r += stride {
		if r == '~' || !unicode.In(r, unicode.L, unicode.N, unicode.M, unicode.S) {
			continue
		}
		for token := range strings.FieldsSeq(text.Normalize("~" + string(r) + "~")) {
			if !want[token] {
				want[token] = true
				all.WriteString(token + " ")
			}
		}
	}
	if len(want) < least {
		t.Fatalf("only %d tokens, want at least %v", len(want), least)
	}
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	db.SetMaxOpenConns(1)
	for _, q := range []string{ingest.Schema, `CREATE VIRTUAL TABLE vocabulary USING fts5vocab (video_text, row)`} {
		if _, err := db.ExecContext(t.Context(), q); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := db.ExecContext(t.Context(), `INSERT INTO video_text (rowid, title) VALUES (1, ?)`, all.String()); err != nil {
		t.Fatal(err)
	}
	rows, err := db.QueryContext(t.Context(), `SELECT term FROM vocabulary`)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var term string
		if err := rows.Scan(&term); err != nil {
			t.Fatal(err)
		}
		if !want[term] {
			t.Errorf("the tokenizer made up %q", term)
		}
		delete(want, term)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	n := 0
	for token := range want {
		if n++; n <= 10 {
			t.Errorf("the tokenizer lost %q (%U), want more than 10", token, []rune(token))
		}
	}
	if n > 0 {
		t.Errorf("%d tokens lost, want none", n)
	}
}
