package term

import (
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
)

// Marker shows which parts of a text matched. The zero Marker shows none.
type Marker struct {
	begin, end string
	width      int // of begin and end together
}

// The markers.
var (
	Bold     = Marker{"\x1b[1m", "\x1b[0m", 0}
	Brackets = Marker{"[", "]", 2}
)

// MarkerFor returns brackets on request, else bold if w may be styled.
func MarkerFor(w io.Writer, brackets bool) Marker {
	switch {
	case brackets:
		return Brackets
	case Styled(w):
		return Bold
	}
	return Marker{}
}

// Pad is the function Pad for a text with marked parts. A span is [start, end) in characters of the original text. Pad
// never cuts a marked part: one that does not fit is dropped with everything after it or, if it is the first, shown
// without the beginning of the text. A part wider than the columns is not marked.
func (m Marker) Pad(text string, spans [][2]int, columns int) string {
	if m.begin == "" || len(spans) == 0 {
		return Pad(text, columns)
	}
	cells := m.cells(text, spans)
	first := slices.IndexFunc(cells, func(c cell) bool { return c.marked })
	for _, anywhere := range []bool{false, true} { // a text not shown from its start begins with a word if possible
		for from := 0; from <= first; from++ {
			if from > 0 && (from < first-columns || !anywhere && cells[from-1].text != " ") {
				continue
			}
			if line, used, marked := m.line(cells, from, columns); marked {
				return line + strings.Repeat(" ", max(columns-used, 0))
			}
		}
	}
	return Pad(text, columns)
}

// cell is a visible character, or a whole marked part.
type cell struct {
	text    string
	columns int // marks included
	marked  bool
}

// cells returns the visible cells of a text.
func (m Marker) cells(text string, spans [][2]int) (cells []cell) {
	at, open := -1, false
	for _, r := range text {
		at++
		kept := Clean(string(r))
		if kept == "" {
			continue
		}
		in := slices.ContainsFunc(spans, func(s [2]int) bool { return at >= s[0] && at < s[1] })
		if in && open {
			last := &cells[len(cells)-1]
			last.text += kept
			last.columns += Width(kept)
		} else {
			cells = append(cells, cell{kept, Width(kept), in})
			if in {
				cells[len(cells)-1].columns += m.width
			}
		}
		open = in
	}
	return cells
}

// line returns the cells starting at from that fit into the columns; an ellipsis stands for the rest.
func (m Marker) line(cells []cell, from, columns int) (line string, used int, marked bool) {
	var b strings.Builder
	if from > 0 {
		b.WriteString("…")
		used = 1
	}
	rest := 0
	for _, c := range cells[from:] {
		rest += c.columns
	}
	for _, c := range cells[from:] {
		if used+rest > columns && used+c.columns > columns-1 {
			b.WriteString("…")
			return b.String(), used + 1, marked
		}
		if rest -= c.columns; c.marked {
			c.text = m.begin + c.text + m.end
		}
		b.WriteString(c.text)
		used += c.columns
		marked = marked || c.marked
	}
	return b.String(), used, marked
}

// Styled reports whether text written to w may be bold or coloured: it is a terminal that supports this, and plain
// text was not asked for (https://no-color.org).
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

// styles matches the codes that Paint and a Marker put around words, which take no columns.
var styles = regexp.MustCompile(`\x1b\[[0-9]*m`)

// styledWidth returns the number of columns of a text that may be styled.
func styledWidth(s string) int { return Width(styles.ReplaceAllString(s, "")) }
