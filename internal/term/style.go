package term

import (
	"io"
	"os"
	"regexp"
	"strings"
)

// Styled reports whether text written to w may be bold or coloured: it is a terminal that can do so, and nobody has
// asked for plain text (https://no-color.org).
func Styled(w io.Writer) bool {
	_, plain := destination(w)
	return !plain && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && IsTerminal(w)
}

// colours of outcomes, and of a doctor's findings: good, waiting, wrong.
var colours = map[string]string{
	"done": "32", "ok": "32",
	"stopped": "33", "missed": "33", "warn": "33",
	"failed": "31", "fail": "31",
	"due": "36", "claimed": "36",
}

// Paint colours a word that is an outcome or a verdict, if w may be coloured.
func Paint(w io.Writer, word string) string {
	if colour, ok := colours[word]; ok && Styled(w) {
		return "\x1b[" + colour + "m" + word + "\x1b[0m"
	}
	return word
}

// PaintPad is Paint, filled up with spaces.
func PaintPad(w io.Writer, word string, columns int) string {
	return Paint(w, word) + strings.Repeat(" ", max(columns-Width(word), 0))
}

// styles matches what Paint and a Marker put around words, which takes no columns.
var styles = regexp.MustCompile(`\x1b\[[0-9]*m`)

// styledWidth returns the number of columns of a text that may be styled.
func styledWidth(s string) int { return Width(styles.ReplaceAllString(s, "")) }
