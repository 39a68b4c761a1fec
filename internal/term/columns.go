package term

import (
	"fmt"
	"io"
	"os"
	"regexp"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/text/width"
)

// Screen is the width in columns that all output is laid out for. Sentences keep to it; tables use the whole terminal.
const Screen = 80

// Columns returns how wide tables written to w are: COLUMNS, else the width of the terminal, within 60..240, else
// Screen.
func Columns(w io.Writer) int {
	n, err := strconv.Atoi(os.Getenv("COLUMNS"))
	if err != nil && IsTerminal(w) {
		n, _ = terminalSize(w)
	}
	if n <= 0 {
		return Screen
	}
	return min(max(n, 60), 240)
}

// Widen widens two cells of a line that is laid out for Screen to the columns of w: the first gets two thirds of the
// extra columns. On a narrower screen both shrink in the same ratio.
func Widen(w io.Writer, first, second int) (int, int) {
	more := Columns(w) - Screen
	return first + more - more/3, second + more/3
}

// Fit cleans s and cuts it to the given number of columns; a cut is marked with an ellipsis.
func Fit(s string, columns int) string {
	s = Clean(s)
	used := 0
	for i, r := range s {
		w := runeWidth(r)
		if used+w > columns-1 && Width(s[i:]) > columns-used {
			return s[:i] + "…"
		}
		used += w
	}
	return s
}

// Width returns the number of terminal columns that s takes.
func Width(s string) int {
	n := 0
	for _, r := range s {
		n += runeWidth(r)
	}
	return n
}

// runeWidth returns the number of terminal columns of a character: 0 for a combining mark, 2 for wide East Asian
// characters and emoji.
func runeWidth(r rune) int {
	switch {
	case unicode.Is(unicode.Mn, r), unicode.Is(unicode.Me, r), r == '\u200c', r == '\u200d', r == '\ufe0f':
		return 0
	case r >= 0x1f300 && r <= 0x1faff:
		return 2
	}
	if k := width.LookupRune(r).Kind(); k == width.EastAsianWide || k == width.EastAsianFullwidth {
		return 2
	}
	return 1
}

// Pad fits s into the given number of columns and fills the rest with spaces.
func Pad(s string, columns int) string {
	s = Fit(s, columns)
	return s + strings.Repeat(" ", max(columns-Width(s), 0))
}

// Paragraph writes s in as many lines of Screen columns as it needs.
func Paragraph(w io.Writer, s string) { fmt.Fprintln(w, Wrap(s, Screen, "  ")) }

// stamps matches times in Stamp's format, which Wrap must not break. It marks the place with a zero byte, which clean
// text never has.
var stamps = regexp.MustCompile(`(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d(?:Z|[+-]\d\d:\d\d))`)

// Wrap breaks s at spaces into lines of at most the given number of columns, except for a longer word. All lines but
// the first begin with indent.
func Wrap(s string, columns int, indent string) string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(stamps.ReplaceAllString(Clean(s), "$1\x00$2")) {
		word = strings.ReplaceAll(word, "\x00", " ")
		switch {
		case line == "":
			line = word
		case Width(line)+1+Width(word) > columns:
			lines = append(lines, line)
			line = indent + word
		default:
			line += " " + word
		}
	}
	return strings.Join(append(lines, line), "\n")
}
