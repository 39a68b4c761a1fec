package term

import (
	"slices"
	"strings"
)

// Marker shows which parts of a text were asked for. The zero Marker shows none.
type Marker struct {
	begin, end string
	width      int // columns that begin and end take together
}

// The markers.
var (
	Bold     = Marker{"\x1b[1m", "\x1b[0m", 0}
	Brackets = Marker{"[", "]", 2}
)

// Pad is Pad of a text with its marked parts. A span is [start, end) in characters of the text as it was given.
func (m Marker) Pad(text string, spans [][2]int, columns int) string {
	if m.begin == "" || len(spans) == 0 {
		return Pad(text, columns)
	}
	for n := 0; ; n++ { // marks take columns, but those that are cut off do not
		cut := Fit(text, columns-m.width*n)
		marked, used := m.mark(text, cut, spans)
		if used <= n || m.width == 0 {
			return marked + strings.Repeat(" ", max(columns-Width(cut)-m.width*used, 0))
		}
	}
}

// mark puts the marks into cut, which is what Fit made of text, and counts the pairs.
func (m Marker) mark(text, cut string, spans [][2]int) (marked string, used int) {
	var b strings.Builder
	open := false
	rest, at := strings.TrimSuffix(cut, "…"), -1
	for _, r := range text {
		at++
		kept := Clean(string(r))
		if kept == "" {
			continue
		}
		if !strings.HasPrefix(rest, kept) {
			break
		}
		rest = rest[len(kept):]
		in := slices.ContainsFunc(spans, func(s [2]int) bool { return at >= s[0] && at < s[1] })
		switch {
		case in && !open:
			b.WriteString(m.begin)
			used++
		case open && !in:
			b.WriteString(m.end)
		}
		open = in
		b.WriteString(kept)
	}
	if open {
		b.WriteString(m.end)
	}
	if strings.HasSuffix(cut, "…") { // something was cut off
		b.WriteString("…")
	}
	return b.String(), used
}
