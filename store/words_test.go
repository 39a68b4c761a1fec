package store_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/trendvidstream/ingest/store"
)

// Table words has every word of the index. Words that left it go with the next sweep.
func TestTheIndexAndTheWordsAgree(t *testing.T) {
	s, clock := newStore(t)
	db := raw(t, s.Path())
	compare := func(when string, exactly bool) {
		t.Helper()
		have, want := dump(t, db, "words", []string{"word"}), dump(t, db, "video_words", []string{"term"})
		lost := slices.DeleteFunc(slices.Clone(want), func(word string) bool { return slices.Contains(have, word) })
		if len(want) < 5 || len(lost) > 0 || exactly && !slices.Equal(have, want) {
			t.Errorf("%s the words are %v, want %v (exactly: %v)", when, have, want, exactly)
		}
	}
	odd := titled("a", "Pokémon GO! 東京都 Москва U.S.A. ΑΒΓ हिन्दी 😀 İstanbul ｆｕｌｌ")
	odd.Tags = []string{"Jalapeño", "don't"}
	chart(t, s, "US", clock.now(), page(odd, titled("b", "Yesterday only")))
	compare("after a chart", true)
	odd.Title = "Renamed"
	chart(t, s, "US", clock.move(minutes(30)), page(odd))
	compare("after another title", false)
	if _, _, err := s.Sweep(t.Context(), clock.now()); err != nil {
		t.Fatal(err)
	}
	compare("after a sweep", true)
	sound(t, s)
}

// A search that finds little asks once which other spellings are words, however many there are.
func TestOtherSpellingsTakeFewStatements(t *testing.T) {
	s, _ := newStore(t)
	chart(t, s, "US", noon, page(titled("a", "Photosynthesis explained thoroughly"), titled("b", "Sun flower"), titled("c", "Sunflower seeds")))
	n, err := s.CountReads()
	if err != nil {
		t.Fatal(err)
	}
	search(t, s, store.SearchQuery{Text: "seeds"}) // the first search also reads rows that the next ones need
	for _, tt := range []struct {
		query string
		found int
		most  int64
	}{
		// the version, a walk, the words, when the store was last fresh, and the rows
		{"photosynthesis explained thoroughly", 1, 6},
		// and whether the two words that the last may be stand in a row
		{"sunflower", 2, 9},
	} {
		before := n.Load()
		if got := search(t, s, store.SearchQuery{Text: tt.query}); len(got) != tt.found {
			t.Errorf("%q finds %v, want %d", tt.query, got, tt.found)
		}
		if took := n.Load() - before; took > tt.most {
			t.Errorf("%q takes %d statements, want at most %d", tt.query, took, tt.most)
		}
	}
}

// Without its row in words, a word is in no other spelling: the check finds that, and repair adds the word.
func TestRepairAddsWordsThatAreMissing(t *testing.T) {
	dir := t.TempDir()
	db := raw(t, library(t, dir, 3))
	if _, err := db.ExecContext(t.Context(), `DELETE FROM words`); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	r := repair(t, dir)
	if !slices.ContainsFunc(r.Found, func(line string) bool { return strings.HasPrefix(line, "words lacks ") }) || r.Broken != "" {
		t.Errorf("repaired %+v", r)
	}
	db = raw(t, filepath.Join(dir, store.FileName))
	if have, want := dump(t, db, "words", []string{"word"}), dump(t, db, "video_words", []string{"term"}); !slices.Equal(have, want) {
		t.Errorf("the words are %v, want %v", have, want)
	}
}
