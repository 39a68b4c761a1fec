package youtubesim_test

import (
	"encoding/xml"
	"maps"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/trendvidstream/ingest/internal/youtubesim"
)

func TestTitlesAreOfManyScriptsAndEachCanBeFound(t *testing.T) {
	s := newStand(t, youtubesim.Options{})
	scripts := map[string]*unicode.RangeTable{
		"Latin": unicode.Latin, "Devanagari": unicode.Devanagari, "Tamil": unicode.Tamil, "Han": unicode.Han,
		"Hiragana": unicode.Hiragana, "Hangul": unicode.Hangul, "Arabic": unicode.Arabic, "Hebrew": unicode.Hebrew, "emoji": unicode.So,
	}
	count := map[string]map[string]int{}
	titles := map[string]map[string]bool{} // longest word -> titles
	for region := range strings.FieldsSeq(regions) {
		count[region] = map[string]int{}
		for i, v := range s.chart(region) {
			title := at(v, "snippet/title")
			for name, script := range scripts {
				if strings.ContainsFunc(title, func(r rune) bool { return unicode.Is(script, r) }) {
					count[region][name]++
				}
			}
			if isHostile(v) {
				if i == 0 {
					t.Errorf("%s: a hostile title is at the top: %q", region, title)
				}
				continue
			}
			if !utf8.ValidString(title) || len([]rune(title)) > 100 || strings.ContainsAny(title, "{}") || strings.Contains(title, "  ") {
				t.Errorf("%s: title %q", region, title)
			}
			word := longestWord(title)
			if titles[word] == nil {
				titles[word] = map[string]bool{}
			}
			titles[word][title] = true
		}
	}
	if in := count["IN"]; in["Devanagari"] < 50 || in["Tamil"] < 50 {
		t.Errorf("India's chart has %v, want 50 of each or more", in)
	}
	for name := range scripts {
		if sum := count["US"][name] + count["IN"][name] + count["AU"][name] + count["FR"][name]; sum < 5 {
			t.Errorf("%s is in %d titles, want at least 5", name, sum)
		}
	}
	for word, in := range titles {
		if len(in) > 15 {
			t.Errorf("%q is the longest word of %d titles: %v, want at most 15", word, len(in), slices.Sorted(maps.Keys(in)))
		}
	}
}

func longestWord(s string) string {
	words := strings.FieldsFunc(s, func(r rune) bool { return !unicode.In(r, unicode.L, unicode.M, unicode.N) })
	return slices.MaxFunc(words, func(a, b string) int { return utf8.RuneCountInString(a) - utf8.RuneCountInString(b) })
}

// isHostile recognizes hostile rows by their tag, which no other title has.
func isHostile(v map[string]any) bool {
	tags, _ := v["snippet"].(map[string]any)["tags"].([]any)
	return len(tags) == 2 && tags[1] == "plain"
}

// Every video has a picture where YouTube's host has it, which is well-formed XML whatever the title, and costs nothing.
func TestEachVideoHasAPicture(t *testing.T) {
	s := newStand(t, youtubesim.Options{})
	videos := append(s.chart("IN"), s.chart("FR")...)
	before := s.Ledger()
	for _, v := range videos {
		w := httptest.NewRecorder()
		s.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/vi/"+at(v, "id")+"/hqdefault.jpg", nil))
		var svg struct {
			XMLName xml.Name `xml:"http://www.w3.org/2000/svg svg"`
			Text    string   `xml:"text"`
		}
		if err := xml.Unmarshal(w.Body.Bytes(), &svg); err != nil || w.Header().Get("Content-Type") != "image/svg+xml" || svg.Text == "" {
			t.Errorf("%q: %d %v %v, want an SVG with a text", at(v, "snippet/title"), w.Code, err, w.Header())
		}
	}
	for _, path := range []string{"/vi/nothingthere/default.jpg", "/vi/" + at(videos[0], "id"), "/vi/"} {
		w := httptest.NewRecorder()
		s.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		if w.Code != http.StatusNotFound {
			t.Errorf("%s: %d, want %v", path, w.Code, http.StatusNotFound)
		}
	}
	if after := s.Ledger(); !reflect.DeepEqual(after, before) {
		t.Errorf("pictures were counted: %+v, want %v", after, before)
	}
}

func TestHostileTextIsServedUnharmed(t *testing.T) {
	s := newStand(t, youtubesim.Options{})
	var titles, channels, tags strings.Builder
	longest := 0
	for region := range strings.FieldsSeq(regions) {
		for _, v := range s.chart(region) {
			if isHostile(v) {
				titles.WriteString("\n" + at(v, "snippet/title"))
				channels.WriteString("\n" + at(v, "snippet/channelTitle"))
				tags.WriteString("\n" + v["snippet"].(map[string]any)["tags"].([]any)[0].(string))
				longest = max(longest, utf8.RuneCountInString(at(v, "snippet/title")))
			}
		}
	}
	for _, c := range []struct {
		where string
		in    string
		want  []string
	}{
		{"title", titles.String(), []string{
			"\n<script>", "\n\x1b[31m", "\n\x1b]0;", "\u202e", "\n=HYPERLINK(", "\n-2+3", "\x00", "DROP TABLE", "\r\n", "\u2028", "{{.", "%s%n",
		}},
		{"channel", channels.String(), []string{"<img", "\x1b[1m", "\u009b", "\u2066", "\n@SUM", "\x00", "DROP TABLE"}},
		{"tag", tags.String(), []string{"<svg", "\x1b]52;", "\u200f", "\n+1", "\x00"}},
	} {
		for _, want := range c.want {
			if !strings.Contains(c.in, want) {
				t.Errorf("no %s holds %q", c.where, want)
			}
		}
	}
	if longest != 5000 {
		t.Errorf("the longest title has %d characters, want 5000", longest)
	}
}
