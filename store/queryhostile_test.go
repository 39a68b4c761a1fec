package store_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/trendvidstream/ingest/store"
)

// Whatever is typed is answered, and soon: the bound, in processor time, is far above what any of these takes.
func TestHostileQueriesAreAnsweredSoon(t *testing.T) {
	soon := 5 * time.Second
	if raced {
		soon *= 10
	}
	many := func(n int, text string) string { return strings.Repeat(text, n) }
	var numbered strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&numbered, "word%d* -wo%d* ", i%40, i)
	}
	queries := []string{
		many(10_000, `"`), many(10_000, `" `), many(5_000, `"a`), many(1_000, "term "), many(1_000, "wo* "), many(1_000, `"the wo"* `), many(1_000, "-wo* "),
		numbered.String(), "\x00", "a\x00b", many(10_000, "\x00"), many(10_000, "\xff"), `"*`, `*"`, "*", "**", "-", "--", "- -", "-*", `-"`, `-""`,
		`channel:""`, `channel:"`, "channel:*", "tag:", "tag::", "channel:tag:x", "title:word01", "title : word01", "{title channel} : x", "- title : x",
		"NEAR(the word01, 2)", "the AND word01", "the OR", "NOT the", "the NOT NOT word01", "^the", "(the", "the)", "((((", many(5_000, "("), "the + word01",
		"the; DROP TABLE videos", `'; --`, `\`, `%`, "?1", ":a", "@a", "$a", many(2_000_000, "! "), many(1_000_000, "a b "), many(1_000_000, "x"),
		many(300_000, "東"), many(100_000, "e\u0301"), "a" + many(100_000, "\u0301"), many(50_000, "ﷺ"), many(50_000, "👨‍👩‍👧 "), many(1_000, "channel:"), "\u202e-the\u202c", "\u200d", "％", "＂the＂",
	}
	s, _ := newStore(t)
	chart(t, s, "US", noon, page(beginners()...))
	for _, text := range queries {
		all := []store.Query{{Text: "the " + text, Order: store.ByRise}, {Text: text}, {Text: text, Region: "US", MinViews: 1}}
		if raced {
			all = all[:1] // the detector slows SQLite tenfold
		}
		for _, q := range all {
			name := fmt.Sprintf("%.40q (%d bytes)", q.Text, len(q.Text))
			began := cpuTime(t)
			r, err := s.Search(t.Context(), q)
			if err != nil {
				t.Errorf("%s: %.200s", name, err)
			}
			if took := cpuTime(t) - began; took > soon {
				t.Errorf("%s: answered after %v", name, took)
			}
			if (r.Looked == "") != (r.Hint != "") {
				t.Errorf("%s: looked for %.80q, hint %q", name, r.Looked, r.Hint)
			}
		}
	}
}
