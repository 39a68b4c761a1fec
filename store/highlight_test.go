package store_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/store"
	"github.com/trendvidstream/ingest/store/text"
)

// marked is the title with brackets around the words that matched the search.
func marked(title string, spans []text.Span) string {
	var b strings.Builder
	at := -1
	for _, r := range title {
		at++
		for _, s := range spans {
			if s[1] == at {
				b.WriteByte(']')
			}
		}
		for _, s := range spans {
			if s[0] == at {
				b.WriteByte('[')
			}
		}
		b.WriteRune(r)
	}
	for _, s := range spans {
		if s[1] == at+1 {
			b.WriteByte(']')
		}
	}
	return b.String()
}

func TestTheQueryIsMarkedInTheTitle(t *testing.T) {
	s, _ := newStore(t)
	tests := []struct{ title, query, want string }{
		{"Die Straße der Mädchen", "STRASSE madchen", "Die [Straße] der [Mädchen]"},
		{"L'été à Nîmes", "l'ete", "[L'été] à Nîmes"},
		{"Canção do coração", "coracao", "Canção do [coração]"},
		{"Coração decomposto: corac\u0327a\u0303o", "coração decomposto", "[Coração] [decomposto]: [corac\u0327a\u0303o]"},
		{"Official Video (Official Music Video)", `"official video"`, "[Official Video] (Official Music Video)"},
		{"Trailers and a trail", "trail*", "[Trailers] and a [trail]"},
		{"東京タワーの猫", "タワー", "東京[タワー]の猫"},
		{"東京タワーの猫", "京", "東[京]タワーの猫"},
		{"東京タワーの猫", "猫", "東京タワーの[猫]"},
		{"고양이 영상 모음", "영상", "고양이 [영상] 모음"},
		{"नई हिंदी फ़िल्म का ट्रेलर", "फ\u093cिल्म", "नई हिंदी [फ़िल्म] का ट्रेलर"},
		{"புதிய தமிழ் திரைப்படம்", "தமிழ்", "புதிய [தமிழ்] திரைப்படம்"},
		{"zero\u200dwidth x", "zerowidth", "[zero\u200dwidth] x"},
		{"ＦＵＬＬ ｗｉｄｔｈ", "width", "ＦＵＬＬ [ｗｉｄｔｈ]"},
		{"Goal🔥🔥 ok", "🔥", "Goal[🔥🔥] ok"},
		{"one ﬁlm ½", "film", "one [ﬁlm] ½"},
		{"Red -blue channel", "red -green channel:kanal", "[Red] -blue channel"},
		{"Music is red", "red tag:music", "Music is [red]"},
		{"only its tags", "music", "only its tags"},
	}
	for i, tt := range tests {
		v := titled("v", tt.title)
		v.Tags = []string{"music"}
		chart(t, s, "US", noon.Add(minutes(i)), page(v))
		r, err := s.Search(t.Context(), store.SearchQuery{Text: tt.query})
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Items) != 1 {
			t.Errorf("%q does not find %q", tt.query, tt.title)
		} else if got := marked(tt.title, r.Items[0].Highlight); got != tt.want {
			t.Errorf("%q: %q, want %q", tt.query, got, tt.want)
		}
	}
	out, err := json.Marshal([]text.Span{{0, 3}})
	if err != nil || string(out) != "[[0,3]]" {
		t.Errorf("in JSON: %s, %v, want \"[[0,3]]\"", out, err)
	}
}

func FuzzAMarkIsWithinTheTitle(f *testing.F) {
	for _, title := range []string{"Red blue", "東京 tower 2026年", "नई फ़िल्म", "a\u0301\u0327\u200d\u0302 b", "\xff a \xc3", "ﷺ ㍿", "각ᆨ", "カ\u3099", "\u0301a", "\u200da"} {
		f.Add(title, "a")
		f.Add(title, title)
	}
	s, clock := newStore(f)
	f.Fuzz(func(t *testing.T, title, query string) {
		chart(t, s, "US", clock.move(minutes(1)), page(titled("a", title)))
		r, err := s.Search(t.Context(), store.SearchQuery{Text: query})
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range r.Items {
			end := 0
			for i, span := range h.Highlight {
				if span[0] < end || i > 0 && span[0] == end || span[1] <= span[0] || span[1] > utf8.RuneCountInString(title) {
					t.Errorf("%q in %q: %v", query, title, h.Highlight)
				}
				end = span[1]
			}
		}
	})
}

func TestAPhraseThatMatchesATitleMarksIt(t *testing.T) {
	alone(t)
	s, _ := newStore(t)
	var titles []string
	for _, region := range realRegions[:3] {
		for _, v := range realCharts(t, region)["2026-02-14"] {
			titles = append(titles, v.Title)
		}
	}
	for i, title := range titles {
		title = strings.ReplaceAll(title, `"`, " ")
		chart(t, s, "US", noon.Add(minutes(i)), page(titled("v", title)))
		r, err := s.Search(t.Context(), store.SearchQuery{Text: `"` + title + `"`})
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Items) != 1 || len(r.Items[0].Highlight) != 1 {
			t.Errorf("%q: %+v, want one video with one place marked", title, r.Items)
		}
	}
}

func withViews(v ingest.Video, n int64) ingest.Video {
	v.Views = count(n)
	return v
}
