package pages

import (
	"fmt"
	"strings"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"github.com/trendvidstream/ingest/internal/report"
)

// Bar is how much of a limit is used. All its amounts are percentages of the limit.
type Bar struct {
	Label  string  // the same in words
	Used   float64 // solid
	Needed float64 // pale, right of Used
	Others float64 // hatched, right of Needed: spent elsewhere, or not known
	Marks  []Mark
}

// Mark is a line across a bar, with a text below it.
type Mark struct {
	At   float64
	Text string
}

// Node shows the bar.
func (b Bar) Node() g.Node {
	const height = 16
	part := func(from, width float64, attributes ...g.Node) g.Node {
		from = min(from, 100)
		return g.If(width > 0, g.El("rect", percent("x", from), percent("width", min(width, 100-from)),
			number("height", height), number("rx", 2), g.Group(attributes)))
	}
	return h.SVG(h.Class("bar"), h.Role("img"), h.Aria("label", b.Label),
		g.If(b.Others > 0, g.El("defs", hatch("h"))), // its id is for one bar of a page
		part(0, 100, h.Class("track")),
		part(0, b.Used, h.Class("fill")),
		part(b.Used, b.Needed, h.Class("fill"), g.Attr("opacity", ".3")),
		part(b.Used+b.Needed, b.Others, g.Attr("fill", "url(#h)")),
		g.Map(b.Marks, func(m Mark) g.Node {
			return g.Group{
				g.El("line", h.Class("mark"), percent("x1", m.At), percent("x2", m.At), number("y1", -2), number("y2", height+4)),
				g.El("text", percent("x", m.At), number("y", 33), g.Attr("text-anchor", "end"), g.Text(m.Text)),
			}
		}))
}

// hatch is a pattern of slanted lines, for uncertain figures.
func hatch(id string) g.Node {
	return g.El("pattern", h.ID(id), number("width", 6), number("height", 6), g.Attr("patternUnits", "userSpaceOnUse"),
		g.Attr("patternTransform", "rotate(45)"), g.El("path", h.Class("hatch"), g.Attr("d", "M0 0v6")))
}

func percent(name string, value float64) g.Node { return g.Attr(name, fmt.Sprintf("%.4g%%", value)) }
func number(name string, value int) g.Node      { return g.Attr(name, fmt.Sprint(value)) }

// StripCells is how many cells a strip has.
const StripCells = 48

// stripForms are the forms of a strip's cells, by their left edge.
var stripForms = map[report.Mood]string{report.Good: "M%[1]d 0h3v14h-3", report.Warn: "M%[1]d 7h3v7h-3",
	report.Bad: "M%[1]d 0h3v5h-3M%[1]d 9h3v5h-3", report.Idle: "M%[1]d 1h2v12h-2z"}

// Strip shows the newest StripCells outcomes of a series, oldest first, one cell each. A cell's mood shows in its form:
// full, low, split or hollow. Label is the same in words.
func Strip(label string, cells []report.Mood) g.Node {
	const wide, high = 4, 14
	cells = cells[max(0, len(cells)-StripCells):]
	paths := map[report.Mood]*strings.Builder{report.Good: {}, report.Warn: {}, report.Bad: {}, report.Idle: {}}
	for i, mood := range cells {
		fmt.Fprintf(paths[mood], stripForms[mood], wide*(StripCells-len(cells)+i))
	}
	return h.SVG(h.Class("strip"), g.Attr("viewBox", fmt.Sprintf("0 0 %d %d", wide*StripCells-1, high)),
		g.Attr("preserveAspectRatio", "none"),
		h.Role("img"), h.Aria("label", label),
		g.Map([]report.Mood{report.Good, report.Warn, report.Bad, report.Idle}, func(m report.Mood) g.Node {
			return g.If(paths[m].Len() > 0, g.El("path", h.Class(m.String()), g.Attr("d", paths[m].String())))
		}))
}

func stripLegend() g.Node {
	words := map[report.Mood]string{report.Good: "done", report.Warn: "stopped by quota", report.Bad: "failed",
		report.Idle: "not run"}
	return h.P(h.Class("chips soft bars"), g.Text("A bar is a slot of the last 24 hours: "),
		g.Map([]report.Mood{report.Good, report.Warn, report.Bad, report.Idle}, func(m report.Mood) g.Node {
			return h.Span(h.SVG(h.Class("strip"), g.Attr("viewBox", "0 0 4 14"), h.Aria("hidden", "true"),
				g.El("path", in(m, ""), g.Attr("d", fmt.Sprintf(stripForms[m], 0)))), g.Text(words[m]))
		}))
}
