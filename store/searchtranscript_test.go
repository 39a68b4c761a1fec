package store_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/trendvidstream/ingest/store"
	"github.com/trendvidstream/ingest/store/storetest"
)

// What is typed in many languages, and what it finds among the recorded charts: go test -v -run Transcript
// prints it. The same words with and without accents, in either case and width, find the same.
func TestTranscriptOfSearchesInManyLanguages(t *testing.T) {
	days := 30
	if raced {
		days = 3 // enough for what the detector can find, at a tenth of the time
	}
	r := storetest.Record(t, openAt, "2026-02-14", days)
	for _, of := range []struct {
		language string
		same     []string // ways to type one thing
	}{
		{"Hindi", []string{"होली", "हो\u200dली"}},
		{"Hindi, a beginning", []string{"भोज*"}},
		{"Tamil", []string{"தமிழ்", "தமிழ\u200c்"}},
		{"Japanese", []string{"アニメ", "ｱﾆﾒ"}},
		{"Japanese, within a run", []string{"公式", "\"公式\""}},
		{"Korean", []string{"뮤직", "\u1106\u1172\u110C\u1175\u11A8"}},
		{"Chinese, one character", []string{"花"}},
		{"German", []string{"für", "FÜR", "fur", "fu\u0308r"}},
		{"German, ß", []string{"große", "GROSSE", "grosse"}},
		{"French", []string{"été", "ete", "ÉTÉ"}},
		{"French, a phrase", []string{`"clip officiel"`, `"Clip Officiel"`}},
		{"Portuguese", []string{"coração", "coracao", "CORAÇÃO"}},
		{"Portuguese, a phrase", []string{`"ao vivo"`, `"AO VIVO"`}},
		{"Emoji", []string{"🔥", "🔥\ufe0f"}},
	} {
		first := ""
		for i, text := range of.same {
			got, err := r.Store.Search(t.Context(), store.SearchQuery{Text: text, Limit: 3})
			if err != nil {
				t.Fatal(err)
			}
			var shown []string
			for _, h := range got.Items {
				shown = append(shown, fmt.Sprintf("    %s  (%s)", marked(h.Video.Title, h.Highlight), h.Video.Channel))
			}
			all := search(t, r.Store, store.SearchQuery{Text: text, Limit: 1000, Order: store.ByViews})
			t.Logf("%s: %s finds %d:\n%s", of.language, text, len(all), strings.Join(shown, "\n"))
			if len(all) == 0 && !raced {
				t.Errorf("%s: %s finds nothing", of.language, text)
			}
			found := strings.Join(all, " ")
			if i == 0 {
				first = found
			} else if found != first {
				t.Errorf("%s: %s finds other videos than %s", of.language, text, of.same[0])
			}
		}
	}
}
