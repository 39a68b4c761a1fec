package text

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// A word of known letters is folded letter by letter, and a text word by word, to the same result as folding the
// whole text.
func TestFoldingByLettersAndWordsIsFoldingTheWhole(t *testing.T) {
	seed := rand.Uint64()
	rng := rand.New(rand.NewPCG(seed, 0))
	known := []rune("東京한국 \u0301\u0306\u3099\u093C\u0653ｶﾞΣς™\u00AD👍🏽ﬃ\u1112\u1161")
	for r, folded := range foldedLetters() {
		if folded != "" {
			known = append(known, rune(r))
		}
	}
	for range 20_000 {
		var b strings.Builder
		for range 1 + rng.IntN(12) {
			n := len(known)
			if rng.IntN(3) == 0 {
				n = 30
			}
			b.WriteRune(known[rng.IntN(n)])
		}
		if got, want := fold(b.String()), foldAny(b.String()); got != want {
			t.Fatalf("seed %d, %+q: folded %+q, as a whole %+q", seed, b.String(), got, want)
		}
	}
}
