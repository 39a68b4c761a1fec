package text

import (
	"testing"
	"unicode/utf8"
)

func TestSpellWritesNamesAsPeopleTypeThem(t *testing.T) {
	for name, want := range map[string]string{
		"U.S.A.": "usa", "U.S. Army": "us army", "t.A.T.u.": "tatu", "S.W.A.T": "swat", "É.T.": "et", "E\u0301.T.": "et", "С.С.С.Р.": "ссср",
		"J.K. Rowling": "jk rowling", "J. K. Rowling": "jk rowling", "JK Rowling": "jk rowling",
		"P!nk": "pink", "A$AP Rocky": "asap rocky", "Ke$ha": "kesha", "Joey Bada$$": "joey badass", "$uicideboy$": "suicideboys",
		"GOL!GOL!GOL!": "gol gol gol", "Stop! Now": "stop now", "R$ 50": "r 50", "US$ 5": "us 5", "US$5": "us 5", "$100": "100", "cash $$$": "cash",
		"rock'n'roll": "rock n roll", "v1.2.3": "v1 2 3", "www.a.example": "www a example", "end. A new one": "end a new one", "漢.字.": "漢 字", "": "", ".": "",
	} {
		if got := Normalize(name); got != want {
			t.Errorf("%q -> %q, want %q", name, got, want)
		}
		if s := spell(name); utf8.RuneCountInString(s) != utf8.RuneCountInString(name) {
			t.Errorf("the spelling of %q has %d runes: %q", name, utf8.RuneCountInString(s), s)
		}
	}
}

// Highlight marks the text that matches, including the signs within it.
func TestHighlightMarksASpeltName(t *testing.T) {
	for _, tt := range []struct{ query, title, want string }{
		{"usa", "Made in U.S.A. today", "U.S.A"},
		{"u.s.a.", "USA today", "USA"},
		{"pink", "P!nk - So What", "P!nk"},
		{"suicideboys", "new $uicideboy$ song", "$uicideboy$"},
	} {
		spans := Parse(tt.query).Highlight(Locate(tt.title))
		if len(spans) != 1 || string([]rune(tt.title)[spans[0][0]:spans[0][1]]) != tt.want {
			t.Errorf("%q in %q: %v, want %q", tt.query, tt.title, spans, tt.want)
		}
	}
}
