package text

import (
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Span is a part of a text: the indexes of its first rune and of the rune after its last. A byte that is not UTF-8
// counts as a rune.
type Span = [2]int

// placed is a token of a text with its place in it.
type placed struct {
	token string
	cjk   bool
	from  []int // the rune index in the text of each rune of the token, and of its end
}

// Highlight finds the parts of a title that the query matches, in order and without overlap.
func (q Query) Highlight(title string) []Span {
	placed := locate(title)
	tokens := make([]string, len(placed))
	for i, p := range placed {
		tokens[i] = p.token
	}
	var spans []Span
	for _, c := range q {
		if c.not || c.column != "" {
			continue
		}
		for i := range tokens {
			if n, _ := c.leads(tokens[i:]); n > 0 {
				spans = append(spans, Span{placed[i].from[0], c.end(placed[i+n-1])})
			}
		}
	}
	return join(spans)
}

// end returns where a match with the last token t ends: after the whole word, even if only its beginning was searched
// for, except that a bigram is no word.
func (c clause) end(t placed) int {
	last := c.tokens[len(c.tokens)-1]
	if n := utf8.RuneCountInString(last); t.cjk && n < len(t.from) {
		return t.from[n]
	}
	return t.from[len(t.from)-1]
}

// join sorts spans and merges touching ones.
func join(spans []Span) []Span {
	slices.SortFunc(spans, func(a, b Span) int { return a[0] - b[0] })
	out := spans[:0]
	for _, s := range spans {
		if n := len(out); n > 0 && s[0] <= out[n-1][1] {
			out[n-1][1] = max(out[n-1][1], s[1])
			continue
		}
		out = append(out, s)
	}
	return slices.Clip(out)
}

// locate cuts a text as Normalize does, with the place of each token. Spelling keeps the number of runes. It folds piece by piece; if that differs from
// folding the whole, which no text in use does, it returns nothing.
func locate(text string) []placed {
	text = spell(text)
	var folded strings.Builder
	var starts []int // for every byte of folded, the rune of text where its piece begins
	runes := 0
	for rest := text; rest != ""; {
		piece, n := cutPiece(rest)
		rest = rest[len(piece):]
		f := fold(piece)
		folded.WriteString(f)
		for range len(f) {
			starts = append(starts, runes)
		}
		runes += n
	}
	if folded.String() != fold(text) {
		return nil
	}
	starts = append(starts, runes)
	var out []placed
	for _, w := range words(folded.String()) {
		from := make([]int, 0, len(w.text)+1)
		for i := range w.text {
			from = append(from, starts[w.at+i])
		}
		end := w.at + len(w.text)
		from = append(from, pieceEnd(starts, end))
		out = append(out, w.place(from)...)
	}
	return out
}

// pieceEnd returns the end of the piece that produced the byte before end.
func pieceEnd(starts []int, end int) int {
	for i := end; i < len(starts); i++ {
		if starts[i] != starts[end-1] {
			return starts[i]
		}
	}
	return starts[len(starts)-1]
}

// place cuts the word as tokens does; from has the place of each of its runes, and of its end.
func (w word) place(from []int) []placed {
	if !w.cjk {
		return []placed{{w.text, false, from}}
	}
	var out []placed
	tokens := w.tokens(nil, true)
	for i, t := range tokens {
		out = append(out, placed{t, true, from[i : i+utf8.RuneCountInString(t)+1]})
	}
	return out
}

// cutPiece cuts off the first rune of s with the runes that are folded together with it, and counts them.
func cutPiece(s string) (piece string, runes int) {
	size := 0
	for i, r := range s {
		if i > 0 && strip(r) >= 0 && norm.NFKD.PropertiesString(s[i:]).BoundaryBefore() && norm.NFKC.PropertiesString(s[i:]).BoundaryBefore() {
			break
		}
		runes++
		_, n := utf8.DecodeRuneInString(s[i:])
		size = i + n
	}
	return s[:size], runes
}
