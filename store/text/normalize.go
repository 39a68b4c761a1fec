// Package text is the part of search that needs no database: the words in the index, the parsing of a query, its
// matches in a title, and the ranking of a video.
package text

import (
	"iter"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// Normalize returns a text as the index holds it: tokens separated by spaces. Texts that look the same to a reader, or
// are typed instead of one another, give the same tokens: composed or not, upper or lower case, with or without
// accents, full or half width, ß or ss, ø or o, with joiners inside or not.
//
// Letters, digits and the vowel signs of Indic scripts form words; every emoji is a token of its own. Chinese,
// Japanese, Korean, Thai, Lao, Khmer and Burmese have no spaces between words: a run of their characters becomes its
// bigrams and its last character, "東京都" -> "東京 京都 都". A search for one character is a search for tokens that begin
// with it, and so also finds it at the end of a run.
func Normalize(text string) string { return strings.Join(Tokens(text), " ") }

// Tokens returns the tokens of Normalize.
func Tokens(text string) (tokens []string) {
	folded := fold(spell(text))
	tokens = make([]string, 0, len(folded)/5)
	for w := range words(folded) {
		tokens = w.tokens(tokens, true)
	}
	return tokens
}

// word is a word of folded text.
type word struct {
	text string
	cjk  bool // a run of a script without spaces: see Normalize
	at   int  // its first byte in the folded text
}

// tokens appends the word's tokens. ends says that a run ends here, so that its last character is a token too.
func (w word) tokens(to []string, ends bool) []string {
	if !w.cjk {
		return append(to, w.text)
	}
	runes := []rune(w.text)
	for i := range len(runes) - 1 {
		to = append(to, string(runes[i:i+2]))
	}
	if ends || len(runes) == 1 {
		to = append(to, string(runes[len(runes)-1]))
	}
	return to
}

// kind is the effect of a rune of folded text on words.
type kind int

const (
	between kind = iota // separates words
	letter              // continues a word
	ideo                // continues a run of a script without spaces
	symbol              // is a word of its own
)

func words(folded string) iter.Seq[word] {
	return func(yield func(word) bool) {
		start, open := 0, between
		for i, r := range folded {
			k := kindOf(r)
			if k == open && k != symbol {
				continue
			}
			if open != between && !yield(word{folded[start:i], open == ideo, start}) {
				return
			}
			start, open = i, k
		}
		if open != between {
			yield(word{folded[start:], open == ideo, start})
		}
	}
}

func kindOf(r rune) kind {
	switch {
	case r < utf8.RuneSelf:
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' {
			return letter
		}
		return between
	case r >= 'À' && r <= 'ɏ', r >= 'Ѐ' && r <= 'ҁ': // Latin and Cyrillic, without slow tables
		if r == '×' || r == '÷' {
			return between
		}
		return letter
	case r == unicode.ReplacementChar, r >= 0x2B9 && r <= 0x2BF, // the latter are letters only in Unicode's tables: ʼ
		r == 0x166D: // ᙭, a symbol to Go, punctuation to the tokenizer
		return between
	case r == 'ー', r == 0x3099, r == 0x309A, // the sound marks of both kana
		unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Bopomofo) &&
			unicode.IsLetter(r),
		unicode.In(r, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar) &&
			unicode.In(r, unicode.L, unicode.Mn, unicode.Mc):
		return ideo
	case unicode.In(r, unicode.L, unicode.N, unicode.Mn, unicode.Mc):
		return letter
	case unicode.Is(unicode.So, r):
		return symbol
	}
	return between
}

// fold removes differences that a search should ignore. Letters on the two sides of a space do not affect each other,
// so that each word is folded alone.
func fold(text string) string {
	if isASCII(text) { // the same in a tenth of the time
		return strings.ToLower(text)
	}
	folded := make([]byte, 0, len(text))
	for word := range strings.SplitAfterSeq(text, " ") {
		folded = appendFolded(folded, word)
	}
	return string(folded)
}

// appendFolded folds letter by letter from a table, which takes a tenth of the time, unless the table lacks one.
func appendFolded(to []byte, word string) []byte {
	before := len(to)
	for _, r := range word {
		var known bool
		if to, known = appendLetter(to, r); !known {
			return append(to[:before], foldAny(word)...)
		}
	}
	return to
}

// appendLetter folds a letter of the table, a Chinese character or a Korean syllable; the last two are unchanged.
func appendLetter(to []byte, r rune) (_ []byte, known bool) {
	switch {
	case !isLetter(r):
		return to, false
	case r < lastKnown:
		return append(to, foldedLetters()[r]...), true
	}
	return utf8.AppendRune(to, r), true
}

// isLetter reports whether appendLetter folds the rune.
func isLetter(r rune) bool {
	return r < lastKnown && foldedLetters()[r] != "" || r >= 0x4E00 && r <= 0x9FFF || r >= 0xAC00 && r <= 0xD7A3
}

const lastKnown = 0x94E

// foldedLetters are letters that are folded alike next to any other letters of the table: ASCII, Latin, Cyrillic,
// Arabic, and Devanagari without the nukta.
var foldedLetters = sync.OnceValue(func() *[lastKnown]string {
	var known [lastKnown]string
	for _, span := range [][2]rune{{0, 0x7F}, {0xC0, 0x24F}, {0x400, 0x481}, {0x621, 0x63A},
		{0x641, 0x64A}, {0x901, 0x93B}, {0x93D, lastKnown - 1}} {
		for r := span[0]; r <= span[1]; r++ {
			known[r] = foldAny(string(r))
		}
	}
	return &known
})

// foldAny folds a word with any letters.
func foldAny(text string) string {
	text = norm.NFKC.String(strings.Map(strip, text))
	// Case comes after NFKC, since letters such as 𝗛 have no lower case.
	text = cases.Fold().String(text)
	text = norm.NFKD.String(text)
	text = letters.Replace(strings.Map(strip, strings.Map(unaccent, text)))
	return norm.NFC.String(text)
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// strip drops characters without a shape of their own, and separates words at signs that NFKC would spell out.
func strip(r rune) rune {
	switch {
	case r < '©', r >= 'À' && r <= 'ɏ', r >= 'Ѐ' && r <= 'ҁ': // most texts, without slow tables
		return r
	case r == '™', r == '℠', r == '©', r == '®', r == 0x200B: // the last is a space of no width
		return ' '
	case unicode.Is(unicode.Cf, r), unicode.Is(unicode.Variation_Selector, r),
		unicode.Is(unicode.Me, r),    // enclosing marks: 1️⃣ is 1
		r >= 0x1F3FB && r <= 0x1F3FF, // skin tones
		unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r):
		return -1
	}
	return r
}

// unaccent drops the marks of alphabets that are also written without them: Latin, Greek, Cyrillic, Hebrew, Arabic.
// Marks of Indic scripts and of kana are as good as letters, and stay.
func unaccent(r rune) rune {
	switch {
	case r >= 0x300 && r <= 0x36F, r >= 0x1AB0 && r <= 0x1AFF, r >= 0x1DC0 && r <= 0x1DFF,
		r >= 0x20D0 && r <= 0x20FF, r >= 0xFE20 && r <= 0xFE2F,
		r >= 0x591 && r <= 0x5C7 && unicode.Is(unicode.Mn, r),
		r >= 0x64B && r <= 0x65F, r == 0x670, r == 0x640: // the last only stretches a word
		return -1
	case r >= 'ァ' && r <= 'ヶ': // katakana become hiragana
		return r - ('ァ' - 'ぁ')
	}
	return r
}

// letters maps letters without a decomposition to how they are typed: Latin ones with strokes, and the endings ta
// marbuta and alef maqsura.
var letters = strings.NewReplacer("ø", "o", "đ", "d", "ł", "l", "ħ", "h", "ŧ", "t", "ı", "i", "ð", "d", "þ", "th",
	"æ", "ae", "œ", "oe", "ŋ", "n", "ĸ", "k", "ſ", "s",
	"ة", "ه", "ى", "ي")
