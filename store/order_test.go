package store_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/store"
)

func TestOrderByFreshness(t *testing.T) {
	s, clock := newStore(t)
	old, young, late := titled("old", "Same"), titled("young", "Same"), titled("late", "Same")
	young.PublishedAt = old.PublishedAt.Add(minutes(1))
	late.PublishedAt = old.PublishedAt.Add(-minutes(60))
	chart(t, s, "US", noon, page(old, late, young))
	chart(t, s, "GB", clock.move(minutes(5)), page(late))
	if got := search(t, s, store.SearchQuery{Text: "same", Order: store.ByFreshness}); !slices.Equal(got, []string{"late", "young", "old"}) {
		t.Errorf("got %v, want [late young old]", got)
	}
}

func TestOrderByRise(t *testing.T) {
	s, clock := newStore(t)
	chartViews := func(region string, views map[string]int64) {
		var videos []ingest.Video
		for _, id := range []string{"climbs", "falls", "first", "hidden", "leaps", "slow"} {
			n, ok := views[id]
			if !ok {
				continue
			}
			v := withViews(titled(id, "Same"), n)
			if n == 0 {
				v.Views = nil
			}
			videos = append(videos, v)
		}
		chart(t, s, region, clock.move(minutes(30)), page(videos...))
	}
	chartViews("US", map[string]int64{"climbs": 1000, "falls": 500, "hidden": 10, "slow": 1e6})
	chartViews("US", map[string]int64{"climbs": 1100, "falls": 490, "hidden": 0, "slow": 1e6 + 1})
	chartViews("US", map[string]int64{"climbs": 1150, "falls": 480, "hidden": 40, "slow": 1e6 + 2})
	chartViews("DE", map[string]int64{"climbs": 1160, "leaps": 1})
	chartViews("DE", map[string]int64{"climbs": 1161, "leaps": 9000, "first": 5})
	r, err := s.Search(t.Context(), store.SearchQuery{Text: "same", Order: store.ByRise})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, h := range r.Items {
		got = append(got, h.Video.ID+" "+number(h.Gained))
	}
	// hidden: 10, withheld, 40. first was seen once.
	want := []string{"leaps 8999", "climbs 50", "hidden 30", "slow 1", "falls -10", "first -"}
	if !slices.Equal(got, want) {
		t.Errorf("got %v\nwant %v", got, want)
	}
	r, err = s.Search(t.Context(), store.SearchQuery{Text: "same", Order: store.ByRise, Region: "DE"})
	if err != nil || len(r.Items) != 3 || r.Items[1].Video.ID != "climbs" || number(r.Items[1].Gained) != "1" {
		t.Errorf("in DE: %+v, %v; want climbs by what it gained there", r.Items, err)
	}
}

func TestRepeatedTitlesRankLower(t *testing.T) {
	s, _ := newStore(t)
	var videos []ingest.Video
	for _, id := range []string{"a", "b", "c", "d", "e"} {
		videos = append(videos, titled(id, "Lion song"))
	}
	videos = append(videos, titled("other", "A lion song that goes on and on"))
	chart(t, s, "US", noon, page(videos...))
	if got := search(t, s, store.SearchQuery{Text: "lion song"}); !slices.Equal(got, []string{"a", "other", "b", "c", "d", "e"}) {
		t.Errorf("got %v, want [a other b c d e]", got)
	}
}

// titles is a store with these in a chart, each as often watched, under the ids a, b, c...
func titles(t *testing.T, titles ...string) *store.Store {
	t.Helper()
	s, _ := newStore(t)
	var videos []ingest.Video
	for i, title := range titles {
		videos = append(videos, titled(string(rune('a'+i)), title))
	}
	chart(t, s, "US", noon, page(videos...))
	return s
}

func TestATitleAsItWasTypedComesFirst(t *testing.T) {
	s := titles(t, "schon da", "Schön da", "schön da", "(Ah) oh", "Ah (oh", "Ah: oh:", "Ah oh", "x-mude", "x-Müde")
	for query, want := range map[string]string{
		"schön": "b c a", // small letters may mean capitals
		"Schön": "b a c",
		"schon": "a b c",
		"SCHON": "a b c",
		"(Ah)":  "d e f g",
		"(ah)":  "d e f g",
		"Ah:":   "f d e g",
		"Müde":  "i h", // within the text between spaces
		"müde":  "i h",
		"mude":  "h i",
	} {
		if got := search(t, s, store.SearchQuery{Text: query}); strings.Join(got, " ") != want {
			t.Errorf("%s: %v, want %s", query, got, want)
		}
	}
}

func TestATitleWithTheWordsOneBehindTheOtherComesFirst(t *testing.T) {
	s := titles(t, "York city new", "New York city", "City new york")
	for query, want := range map[string]string{"new york": "b c a", "york city": "a b c", "new york city": "b a c"} {
		if got := search(t, s, store.SearchQuery{Text: query}); strings.Join(got, " ") != want {
			t.Errorf("%s: %v, want %s", query, got, want)
		}
	}
}

func TestTheShorterTitleComesFirst(t *testing.T) {
	s := titles(t, "Lion one two six", "Lion one")
	if got := search(t, s, store.SearchQuery{Text: "lion"}); strings.Join(got, " ") != "b a" {
		t.Errorf("got %v, want \"b a\"", got)
	}
}

func TestTheFiltersOfTimeAreHalfOpen(t *testing.T) {
	s, _ := newStore(t)
	early, late := titled("early", "Same"), titled("late", "Same")
	early.PublishedAt, late.PublishedAt = noon.Add(-minutes(60)), noon.Add(-minutes(30))
	chart(t, s, "US", noon, page(early, late))
	chart(t, s, "GB", noon.Add(minutes(10)), page(late))
	tests := []struct {
		query store.SearchQuery
		want  string
	}{
		{store.SearchQuery{PublishedSince: early.PublishedAt}, "early late"},
		{store.SearchQuery{PublishedSince: early.PublishedAt.Add(1)}, "late"},
		{store.SearchQuery{PublishedUntil: late.PublishedAt}, "early"},
		{store.SearchQuery{PublishedUntil: late.PublishedAt.Add(1)}, "early late"},
		{store.SearchQuery{SeenSince: noon.Add(minutes(10))}, "late"},
		{store.SearchQuery{SeenSince: noon.Add(minutes(10) + 1)}, ""},
		{store.SearchQuery{SeenSince: noon, PublishedUntil: late.PublishedAt, Region: "US", Category: "10", MinViews: 100}, "early"},
	}
	for _, tt := range tests {
		tt.query.Text = "same"
		got := search(t, s, tt.query)
		slices.Sort(got)
		if strings.Join(got, " ") != tt.want {
			t.Errorf("%+v finds %v, want %q", tt.query, got, tt.want)
		}
	}
}

func TestASearchNamesItsQuery(t *testing.T) {
	s, _ := newStore(t)
	for query, want := range map[string]string{
		"Straße":                   `"strasse"`,
		`red "Big Blue" -live`:     `"red" and "big blue", not "live"`,
		"begin* channel:BBC tag:x": `"begin"... and channel "bbc" and tag "x"...`,
		"東京タワー 猫":                  `"東京たわー" and "猫"`,
		"AC/DC":                    `"ac dc"`,
		"-only":                    `"only"`,
	} {
		r, err := s.Search(t.Context(), store.SearchQuery{Text: query})
		if err != nil || r.Interpreted != want {
			t.Errorf("%s: %q, %v; want %q", query, r.Interpreted, err, want)
		}
	}
}

func number(n *int64) string {
	if n == nil {
		return "-"
	}
	return strconv.FormatInt(*n, 10)
}
