package storetest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/store"
)

// HostileQueries returns queries chosen to keep the server busy, or to break it.
func HostileQueries() []string {
	many := func(n int, text string) string { return strings.Repeat(text, n) }
	var numbered strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&numbered, "word%d* -wo%d* ", i%40, i)
	}
	return []string{
		many(10_000, `"`), many(10_000, `" `), many(5_000, `"a`), many(1_000, "term "), many(1_000, "wo* "),
		many(1_000, `"the wo"* `), many(1_000, "-wo* "),
		numbered.String(), "\x00", "a\x00b", many(10_000, "\x00"), many(10_000, "\xff"), `"*`,
		`*"`, "*", "**", "-", "--", "- -", "-*", `-"`, `-""`,
		`channel:""`, `channel:"`, "channel:*", "tag:", "tag::", "channel:tag:x", "title:word01",
		"title : word01", "{title channel} : x", "- title : x",
		"NEAR(the word01, 2)", "the AND word01", "the OR", "NOT the", "the NOT NOT word01", "^the",
		"(the", "the)", "((((", many(5_000, "("), "the + word01",
		"the; DROP TABLE videos", `'; --`, `\`, `%`, "?1", ":a", "@a", "$a", many(2_000_000, "! "),
		many(1_000_000, "a b "), many(1_000_000, "x"),
		many(300_000, "東"), many(100_000, "e\u0301"), "a" + many(100_000, "\u0301"), many(50_000, "ﷺ"),
		many(50_000, "👨‍👩‍👧 "), many(1_000, "channel:"), "\u202e-the\u202c", "\u200d", "％", "＂the＂",
		many(200, "'"), many(200, `\`) + "x", "a & b | !c <-> d", "x:*A", "'a':*ABCD", "word01:B",
		many(1_000, "<-> "), many(600, "y") + "* " + many(600, "y"),
	}
}

// Every query is answered soon, even if thousands of words have a prefix and thousands of videos match: the bound is
// far above the time of any of these on a busy machine. The answer names the words that it ignored.
func testHostileQueriesAreAnsweredSoon(t *testing.T, open Open) {
	const soon = 30 * time.Second
	s, _ := newStore(t, open)
	Chart(t, s, "US", noon, Page(Beginners()...))
	var pages []ingest.Page
	for i := range 20 { // a thousand videos, of five thousand words that begin so
		var videos []ingest.Video
		for j := range 50 {
			n := i*50 + j
			videos = append(videos,
				Titled(fmt.Sprintf("many%04d", n), fmt.Sprintf("the wo%04da wo%04db wo%04dc wo%04dd wo%04de", n, n, n, n, n)))
		}
		pages = append(pages, Page(videos...))
	}
	Chart(t, s, "DE", noon, pages...)
	var slowest time.Duration
	of := ""
	for _, query := range HostileQueries() {
		if Raced && len(query) > 10_000 { // the long ones are one goroutine's work, which the detector makes slow
			continue
		}
		for _, q := range []store.SearchQuery{{Text: query}, {Text: "the " + query, Order: store.ByRise},
			{Text: query, Region: "US", MinViews: 1}} {
			began := time.Now()
			r, err := s.Search(t.Context(), q)
			took := time.Since(began)
			if name := fmt.Sprintf("%.40q (%d bytes)", q.Text, len(q.Text)); took > slowest {
				slowest, of = took, name
			}
			if err != nil || took > soon || (r.Interpreted == "") != (r.Hint != "") {
				t.Errorf("%.40q (%d bytes): after %v %.200v, looked for %.80q, hint %q", q.Text, len(q.Text),
					took, err, r.Interpreted, r.Hint)
			}
		}
	}
	t.Logf("the slowest, %s, took %v", of, slowest)
}
