package text

import (
	"slices"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Span is a part of a text: the indexes of its first rune and of the rune after its last. A byte that is not UTF-8
// counts as a rune.
type Span = [2]int

// Located is a text cut as Normalize does, with the place of each token.
type Located struct {
	tokens []string
	places []place // of each token
	// for every byte of the folded text, the rune of the text where its piece begins; and the text's end; nil: ASCII
	starts []int32
	text   string
}

// place is where a token begins in the folded text.
type place struct {
	at  int32
	cjk bool
}

// Highlight finds the parts of a title that the query matches, in order and without overlap.
func (q Query) Highlight(title Located) []Span {
	var spans []Span
	for _, c := range q {
		if c.not || c.column != "" {
			continue
		}
		for i := range title.tokens {
			if n, _ := c.leads(title.tokens[i:]); n > 0 {
				spans = append(spans, Span{title.runeAt(int(title.places[i].at)), title.end(c, i+n-1)})
			}
		}
	}
	return join(spans)
}

// end returns where a match with the last token i ends: after the whole word, even if only its beginning was searched
// for, except that a bigram is no word.
func (l Located) end(c clause, i int) int {
	token := l.tokens[i]
	if last := c.tokens[len(c.tokens)-1]; l.places[i].cjk && len(last) < len(token) {
		token = last
	}
	end := int(l.places[i].at) + len(token)
	if l.starts == nil {
		return end
	}
	for _, start := range l.starts[end:] {
		if start != l.starts[end-1] {
			return int(start)
		}
	}
	return int(l.starts[len(l.starts)-1])
}

// runeAt returns the rune of the text where the piece of a byte of the folded text begins.
func (l Located) runeAt(at int) int {
	if l.starts == nil {
		return at
	}
	return int(l.starts[at])
}

// Tokens returns the text's tokens.
func (l Located) Tokens() []string {
	if l.tokens == nil {
		return Tokens(l.text)
	}
	return l.tokens
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

// Locate cuts a text as Normalize does. Spelling keeps the number of runes. It folds piece by piece; if that differs
// from folding the whole, which no text in use does, it returns nothing.
func Locate(text string) Located {
	spelt := spell(text)
	if isASCII(spelt) {
		return locate(fold(spelt), nil, text)
	}
	folded, starts := foldPieces(spelt)
	if starts == nil {
		return Located{text: text}
	}
	return locate(folded, starts, text)
}

// foldPieces folds a text piece by piece.
func foldPieces(text string) (string, []int32) {
	folded, alike := make([]byte, 0, len(text)), true // alike: each rune is a piece, and all are folded as in the whole
	starts, runes := make([]int32, 0, len(text)+1), int32(0)
	for rest := text; rest != ""; {
		piece, n, letter := cutPiece(rest)
		rest = rest[len(piece):]
		if letter {
			r, _ := utf8.DecodeRuneInString(piece)
			folded, _ = appendLetter(folded, r)
		} else {
			folded, alike = append(folded, fold(piece)...), false
		}
		for len(starts) < len(folded) {
			starts = append(starts, runes)
		}
		runes += int32(n)
	}
	if !alike && string(folded) != fold(text) {
		return "", nil
	}
	return string(folded), append(starts, runes)
}

// locate cuts a folded text.
func locate(folded string, starts []int32, text string) Located {
	n := len(folded) / 5
	l := Located{make([]string, 0, n), make([]place, 0, n), starts, text}
	for w := range words(folded) {
		first := len(l.tokens)
		l.tokens = w.tokens(l.tokens, true)
		for _, token := range l.tokens[first:] {
			l.places = append(l.places, place{int32(w.at), w.cjk})
			_, size := utf8.DecodeRuneInString(token)
			w.at += size
		}
	}
	return l
}

// cutPiece cuts off the first rune of s with the runes that are folded together with it, and counts them. letter says
// that appendLetter folds it: then it has no others unless the next rune is folded in another way.
func cutPiece(s string) (piece string, runes int, letter bool) {
	first, size := utf8.DecodeRuneInString(s)
	if next, _ := utf8.DecodeRuneInString(s[size:]); isLetter(first) && (size == len(s) || isLetter(next)) {
		return s[:size], 1, true
	}
	size = 0
	for i, r := range s {
		if i > 0 && strip(r) >= 0 && norm.NFKD.PropertiesString(s[i:]).BoundaryBefore() &&
			norm.NFKC.PropertiesString(s[i:]).BoundaryBefore() {
			break
		}
		runes++
		_, n := utf8.DecodeRuneInString(s[i:])
		size = i + n
	}
	return s[:size], runes, false
}
