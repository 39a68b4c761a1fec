package text

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// joiner has no shape and does not separate words.
const joiner = '\u2060'

// spell writes initialisms and stylised names as people type them, rune for rune: U.S.A. and t.A.T.u. without the
// points between their letters, A$AP and Ke$ha with an s, P!nk with an i. Amounts such as US$ 5 stay.
func spell(text string) string {
	if !mayName(text) {
		return text
	}
	u := unitsOf(text)
	for i := range u {
		switch u[i].text {
		case ".":
			u.joinInitials(i)
		case "$":
			u.spellDollar(i)
		case "!":
			if u.letter(i-1) && !u.letter(i-2) && !u.digit(i-2) && u.letter(i+1) {
				u[i].spelt = "i"
			}
		}
	}
	var b strings.Builder
	for _, unit := range u {
		b.WriteString(unit.spelt)
	}
	return b.String()
}

// mayName reports whether spell may change the text. It distinguishes most texts, such as "ft. one!", in a twentieth of
// the time.
func mayName(text string) bool {
	for i := range len(text) {
		before, behind := i > 0 && inWord(text[i-1]), i+1 < len(text) && inWord(text[i+1])
		switch text[i] {
		case '$':
			return true
		case '!':
			if before && behind {
				return true
			}
		case '.':
			long := i > 1 && text[i-1] < utf8.RuneSelf && text[i-2] < utf8.RuneSelf && kindOf(rune(text[i-2])) == letter
			if before && !long && (behind || strings.HasPrefix(text[i+1:], " ")) {
				return true
			}
		}
	}
	return false
}

// inWord reports whether the byte may belong to a letter.
func inWord(b byte) bool { return b >= utf8.RuneSelf || b >= 'A' && kindOf(rune(b)) == letter }

// unit is a rune with the marks on it, or a byte that is not UTF-8.
type unit struct {
	text   string
	spelt  string
	letter bool // of a script with spaces between words
	digit  bool
}

type units []unit

func unitsOf(text string) (all units) {
	for text != "" {
		r, n := utf8.DecodeRuneInString(text)
		for n < len(text) {
			mark, size := utf8.DecodeRuneInString(text[n:])
			if !unicode.In(mark, unicode.Mn, unicode.Mc, unicode.Me) {
				break
			}
			n += size
		}
		all = append(all, unit{text[:n], text[:n], unicode.IsLetter(r) && kindOf(r) == letter, unicode.IsDigit(r)})
		text = text[n:]
	}
	return all
}

func (u units) letter(i int) bool { return i >= 0 && i < len(u) && u[i].letter }

func (u units) digit(i int) bool { return i >= 0 && i < len(u) && u[i].digit }

func (u units) is(i int, sign string) bool { return i >= 0 && i < len(u) && u[i].text == sign }

// single reports whether a word of one letter stands there.
func (u units) single(i int) bool {
	return u.letter(i) && !u.letter(i-1) && !u.digit(i-1) && !u.letter(i+1) && !u.digit(i+1)
}

// joinInitials joins the letters on both sides of a point, as in U.S. and J. K. Rowling.
func (u units) joinInitials(point int) {
	next := point + 1
	if u.is(next, " ") && u.is(next+2, ".") {
		next++
	}
	if u.single(point-1) && u.single(next) {
		for i := point; i < next; i++ {
			u[i].spelt = string(joiner)
		}
	}
}

// spellDollar spells a dollar as the s that it stands for in a name: beside a letter, in a run of dollars that touches
// no digit and does not end a word of one or two letters, which is a currency.
func (u units) spellDollar(i int) {
	from, to := i, i+1
	for u.is(from-1, "$") {
		from--
	}
	for u.is(to, "$") {
		to++
	}
	name := u.letter(to) || u.letter(from-1) && u.letter(from-2) && u.letter(from-3)
	if name && !u.digit(from-1) && !u.digit(to) {
		u[i].spelt = "s"
	}
}
