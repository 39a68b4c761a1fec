package pages

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"
)

// LineChart shows lines over time. Its outer SVG has the text and the grid in percent of the width, and an inner one
// the stretched lines. The text thus keeps its size at every width, without a script.
type LineChart struct {
	Label  string // its content, in words
	Height int    // of the drawing, in pixels, without the text below it
	Across []Tick // from 0, left, to chartWidth, right
	Up     []Tick // from 0, top, to Height
	Lines  []Line
}

// chartWidth is the width of a path's coordinates, whatever the width on the screen.
const chartWidth = 1000

// Tick is a line of the grid, with its text.
type Tick struct {
	At   int
	Text string
	Wide bool      // left out on narrow screens
	Time time.Time // that Text names in UTC; zero: none
}

// Line is one line of a chart, or an area.
type Line struct {
	Class string // of the stylesheet: colour and dash; "others" is a hatched area
	Name  string // at the end of the line; "": none
	Path  string // in coordinates of chartWidth and Height
	EndY  int    // height of its name; negative: the line ended before
}

// Node shows the chart.
func (c LineChart) Node() g.Node {
	plot := func(nodes ...g.Node) g.Node {
		return h.SVG(h.Class("plot"), number("height", c.Height+22), g.Group(nodes))
	}
	return h.Figure(h.Class("chart"),
		plot(h.Role("img"), h.Aria("label", c.Label),
			g.Map(c.Up, func(t Tick) g.Node {
				return g.Group{
					g.El("line", h.Class("grid"), number("x1", 0), percent("x2", 100), number("y1", t.At), number("y2", t.At)),
					g.El("text", number("x", 0), number("y", besideLine(t.At)), g.Text(t.Text)),
				}
			}),
			g.Map(c.Across, func(t Tick) g.Node {
				x := float64(t.At) * 100 / chartWidth
				return g.Group{
					g.El("line", h.Class("grid"), percent("x1", x), percent("x2", x), number("y1", 0), number("y2", c.Height)),
					g.El("text", g.If(t.Wide, h.Class("wide")), percent("x", x),
						number("y", c.Height+16), g.If(t.At > chartWidth*9/10, g.Attr("text-anchor", "end")),
						g.If(!t.Time.IsZero(), h.Data("at", t.Time.Format(time.RFC3339))), g.Text(t.Text)),
				}
			}),
			// its id is for one chart of a page
			g.If(slices.ContainsFunc(c.Lines, func(l Line) bool { return l.Class == "others" }), g.El("defs", hatch("o"))),
			h.SVG(percent("width", 100), number("height", c.Height),
				g.Attr("viewBox", fmt.Sprintf("0 0 %d %d", chartWidth, c.Height)), g.Attr("preserveAspectRatio", "none"),
				g.Map(c.Lines, func(l Line) g.Node {
					return g.El("path", h.Class(l.Class), g.If(l.Class == "others", g.Attr("fill", "url(#o)")), g.Attr("d", l.Path))
				}))),
		plot(h.Aria("hidden", "true"), c.names()))
}

// besideLine is where a line's text goes: above it, or below if there is no room.
func besideLine(y int) int {
	if y < 17 {
		return y + 13
	}
	return y - 4
}

// key explains an area or a line of a chart.
func key(class, text string) g.Node {
	form := g.Attr("d", "M0 6h30")
	if class == "area" || class == "others" {
		form = g.Attr("d", "M0 0h30v12H0z")
	}
	return h.Span(h.SVG(h.Class("key"), h.Aria("hidden", "true"),
		g.El("path", h.Class(class), g.If(class == "others", g.Attr("fill", "url(#o)")), form)), g.Text(text))
}

// names writes the names at the ends of the lines, without overlaps.
func (c LineChart) names() g.Node {
	const apart = 15
	named := slices.DeleteFunc(slices.Clone(c.Lines), func(l Line) bool { return l.Name == "" || l.EndY < 0 })
	slices.SortStableFunc(named, func(a, b Line) int { return cmp.Compare(a.EndY, b.EndY) })
	at := make([]int, len(named))
	for i, l := range named {
		at[i] = l.EndY
		if i > 0 {
			at[i] = max(at[i], at[i-1]+apart)
		}
	}
	for i, below := len(at)-1, c.Height; i >= 0; i-- { // names below the drawing move up
		at[i] = min(at[i], below)
		below = at[i] - apart
	}
	var nodes g.Group
	for i, l := range named {
		nodes = append(nodes,
			g.El("path", h.Class("lead "+l.Class), g.Attr("d", fmt.Sprintf("M0 %dL10 %d", l.EndY, at[i]))),
			g.El("text", h.Class("end "+l.Class), number("x", 13), number("y", at[i]+4), g.Text(l.Name)))
	}
	return nodes
}
