package main_test

import (
	program "github.com/trendvidstream/ingest/cmd/ingest"

	"bytes"
	"encoding/csv"
	"encoding/json"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// FuzzExport checks that any upstream text in a title is safe for a spreadsheet and a program: in CSV one row without
// any formula, in JSON one line with the text unchanged.
func FuzzExport(f *testing.F) {
	for _, text := range []string{"", "=1+1", " \t=1+1", "＝1", "-2", "@x", "\u200b=1", "a\r\nb", `"`, "a,b", "\x1b[31m", "\xff", "😀", "\u202e=x"} {
		f.Add(text, text)
	}
	f.Fuzz(func(t *testing.T, title, tag string) {
		var out bytes.Buffer
		if err := program.Export(&out, "csv", tag, title, title); err != nil {
			t.Fatal(err)
		}
		records, err := csv.NewReader(&out).ReadAll()
		if err != nil || len(records) != 3 {
			t.Fatalf("%d records, %v, want 3", len(records), err)
		}
		for _, field := range append(records[1], records[2]...) {
			seen := strings.TrimLeftFunc(field, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) })
			if seen != "" && strings.ContainsRune("=+-@＝＋－＠", []rune(seen)[0]) {
				t.Errorf("%q is a formula", field)
			}
			if strings.ContainsAny(field, "\x1b\x00") {
				t.Errorf("%q reaches a terminal", field)
			}
		}
		out.Reset()
		if err := program.Export(&out, "jsonl", tag, title); err != nil {
			t.Fatal(err)
		}
		var doc struct{ Title string }
		if bytes.Count(out.Bytes(), []byte("\n")) != 1 || json.Unmarshal(out.Bytes(), &doc) != nil {
			t.Errorf("no line of JSON: %q", out.String())
		}
		if utf8.ValidString(title) && doc.Title != title {
			t.Errorf("%q became %q", title, doc.Title)
		}
	})
}
