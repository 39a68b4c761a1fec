package store_test

import (
	"strings"
	"testing"

	"github.com/trendvidstream/ingest/store"
)

func TestAQueryThatFindsLittleIsForgivenAndSaysSo(t *testing.T) {
	s := titles(t, "Minecraft survival island", "Spiderman returns", "GTA 6 trailer", "Don't stop believing", "Für Köln", "Trailers of Mädchen",
		"Football highlights tonight", "مدرسة", "Волшебный лес",
		"Αθήνα τώρα", "नई दुनिया", "संगीत", "ナルト疾風伝", "Москва 2026", "がっこう")
	for _, tt := range []struct{ query, finds, looked string }{
		{"minecarft survival", "a", `"minecarft" or "minecraft" and "survival"...`},
		{"mincraft", "a", `"mincraft"... or "minecraft"`},
		{"imnecraft island", "a", `"imnecraft" or "minecraft" and "island"...`},
		{"fotball highlihgts", "g", ""},
		{"spider man", "b", `"spider" or "spiderman" and "man"... or "spiderman"`},
		{"gta6", "c", `"gta6"... or "gta" or "gta 6"`},
		{"dont stop", "d", ""},
		{"fuer koeln", "e", ""},
		{"trailer maedchen", "f", ""},
		{"minecraft survival castle", "a", `all but one of "minecraft" and "survival" and "castle"...`},
		{"مدرسه", "h", `"مدرسه"`},
		{"волшебни", "i", ""},
		{"volshebny les", "i", `"volshebny" or "волшебныи" and "les"... or "лес"`},
		{"athina", "j", `"athina"... or "αθηνα"`},
		{"duniya", "k", ""},
		{"sangeet", "l", ""},
		{"naruto", "m", ""},
		{"moskva", "n", ""},
		{"gakkou", "o", ""},
		{"2027", "", `"2027"`}, // another number is no typing error
		{"trailerz", "c", `"trailerz"... or "trailer" or "trailers"`},
		{"islands", "a", `"islands"... or "island"`}, // named once
		{"-spiderman", "b", `"spiderman"`},
		{`"minecarft"`, "", `"minecarft"`}, // as it is written
		{"minecarft*", "", `"minecarft"...`},
		{"survival isl", "a", `"survival" and "isl"...`},
	} {
		r, err := s.Search(t.Context(), store.SearchQuery{Text: tt.query, Limit: 1})
		if err != nil {
			t.Fatal(err)
		}
		found := ""
		for _, h := range r.Items {
			found += h.Video.ID
		}
		if found != tt.finds || tt.looked != "" && r.Interpreted != tt.looked || r.Forgiven && (len(r.Items) == 0 || !strings.Contains(r.Interpreted, " o")) {
			t.Errorf("%s finds %q, looked for %s (forgiven: %v); want %q, %s", tt.query, found, r.Interpreted, r.Forgiven, tt.finds, tt.looked)
		}
	}
	if r, err := s.Search(t.Context(), store.SearchQuery{Text: "minecraft", MinViews: 1e9}); err != nil || r.Forgiven || len(r.Items) != 0 {
		t.Errorf("what a filter leaves out is no reason: %+v, %v", r, err)
	}
}

func TestAVideoIsFoundByItsIDAndURL(t *testing.T) {
	s, _ := newStore(t)
	chart(t, s, "US", noon, page(titled("-Ab_c0123xy", "One"), titled("x8abcde", "Two"), titled("zzzzzzzzzzz", "watch youtube x8abcde")))
	for query, want := range map[string]string{
		"-Ab_c0123xy": "-Ab_c0123xy", "https://www.youtube.com/watch?v=-Ab_c0123xy&t=3s": "-Ab_c0123xy", "youtu.be/-Ab_c0123xy": "-Ab_c0123xy",
		"https://www.dailymotion.com/video/x8abcde": "x8abcde", " x8abcde ": "x8abcde", "-AB_c0123xy": "", "x8abcde watch": "zzzzzzzzzzz",
	} {
		if got := search(t, s, store.SearchQuery{Text: query}); strings.Join(got, " ") != want {
			t.Errorf("%s finds %v, want %s", query, got, want)
		}
	}
}

// A video missing any one query word matches; a video missing two words, or containing an excluded word, does not.
func TestAVideoWithoutAnyOneWordIsFound(t *testing.T) {
	all := []string{"anemone", "bluebell", "cornflower", "dandelion", "edelweiss"}
	for n := 2; n <= len(all); n++ {
		some := []string{strings.Join(all[1:n], " ") + " never"}
		for has := 1; has < 1<<n-1; has++ {
			var title []string
			for i, word := range all[:n] {
				if has&(1<<i) != 0 {
					title = append(title, word)
				}
			}
			some = append(some, strings.Join(title, " "))
		}
		r, err := titles(t, some...).Search(t.Context(), store.SearchQuery{Text: "-never " + strings.Join(all[:n], " "), Limit: 100})
		if err != nil || len(r.Items) != n || !r.Forgiven {
			t.Errorf("%d words: %d found, forgiven: %v, %v; want %d", n, len(r.Items), r.Forgiven, err, n)
		}
		for _, h := range r.Items {
			if lacks := n - len(strings.Fields(h.Video.Title)); lacks != 1 {
				t.Errorf("of %d words %q lacks %d, want 1", n, h.Video.Title, lacks)
			}
		}
	}
}
