package pages

import (
	"fmt"
	"strings"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"
)

// StripCells is how many cells a strip has.
const StripCells = 48

// Strip shows the newest StripCells outcomes of a series, oldest first, one cell each. The form of a cell differs with
// its mood: full, low, split or hollow. Label is the same in words.
func Strip(label string, cells []Mood) g.Node {
	const wide, high = 4, 14
	forms := map[Mood]string{Good: "M%[1]d 0h3v14h-3", Warn: "M%[1]d 7h3v7h-3", Bad: "M%[1]d 0h3v5h-3M%[1]d 9h3v5h-3", Idle: "M%[1]d 1h2v12h-2z"}
	cells = cells[max(0, len(cells)-StripCells):]
	paths := map[Mood]*strings.Builder{Good: {}, Warn: {}, Bad: {}, Idle: {}}
	for i, mood := range cells {
		fmt.Fprintf(paths[mood], forms[mood], wide*(StripCells-len(cells)+i))
	}
	return h.SVG(h.Class("strip"), g.Attr("viewBox", fmt.Sprintf("0 0 %d %d", wide*StripCells-1, high)), g.Attr("preserveAspectRatio", "none"),
		h.Role("img"), h.Aria("label", label),
		g.Map([]Mood{Good, Warn, Bad, Idle}, func(m Mood) g.Node {
			return g.If(paths[m].Len() > 0, g.El("path", h.Class(string(m)), g.Attr("d", paths[m].String())))
		}))
}
