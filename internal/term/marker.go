package term

import (
	"io"
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

// MarkerFor returns brackets if they are asked for, else bold if w may be styled.
func MarkerFor(w io.Writer, brackets bool) Marker {
	switch {
	case brackets:
		return Brackets
	case Styled(w):
		return Bold
	}
	return Marker{}
}

// Pad is the function Pad for a text with marked parts. A span is [start, end) in characters of the text as it was
// given.
func (m Marker) Pad(text string, spans [][2]int, columns int) string {
	if m.begin == "" || len(spans) == 0 {
		return Pad(text, columns)
	}
	room := columns
	if Width(Clean(text))+len(spans)*m.width > columns {
		room-- // for an ellipsis
	}
	var b strings.Builder
	used, at, open, rest := 0, -1, false, ""
	for _, r := range text {
		at++
		kept := Clean(string(r))
		if kept == "" {
			continue
		}
		in := slices.ContainsFunc(spans, func(s [2]int) bool { return at >= s[0] && at < s[1] })
		takes, mark := Width(kept), ""
		switch {
		case in && !open:
			takes, mark = takes+m.width, m.begin
		case open && !in:
			mark = m.end
		}
		if used+takes > room {
			rest = "…"
			break
		}
		b.WriteString(mark + kept)
		used, open = used+takes, in
	}
	if open {
		b.WriteString(m.end)
	}
	return b.String() + rest + strings.Repeat(" ", max(columns-used-Width(rest), 0))
}
