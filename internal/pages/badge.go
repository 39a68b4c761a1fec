package pages

import (
	"fmt"
	"unicode/utf8"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"github.com/trendvidstream/ingest/internal/report"
)

// badgeColours are for white text, by mood.
var badgeColours = map[report.Mood]string{report.Good: "#1a7742", report.Warn: "#8c5200",
	report.Bad: "#b3261e", report.Idle: "#5e5b54"}

// badgeOf draws two texts side by side.
func badgeOf(left, right, colour string) g.Node {
	const high, letter, room = 20, 7, 12 // pixels; a letter of 11 px is 7 px wide at most, on average
	wide := func(text string) int { return utf8.RuneCountInString(text)*letter + room }
	box := func(x, width int, colour string) g.Node {
		return g.El("rect", number("x", x), number("width", width), number("height", high), g.Attr("fill", colour))
	}
	text := func(x, width int, words string) g.Node {
		return g.El("text", number("x", x+width/2), number("y", 14), g.Attr("text-anchor", "middle"),
			number("textLength", width-room), g.Text(words))
	}
	l, r := wide(left), wide(right)
	return g.El("svg", g.Attr("xmlns", "http://www.w3.org/2000/svg"), number("width", l+r),
		number("height", high), h.Role("img"), h.Aria("label", fmt.Sprintf("%s: %s", left, right)),
		box(0, l, "#444"), box(l, r, colour),
		g.El("g", g.Attr("fill", "#fff"), g.Attr("font-family", "Verdana,DejaVu Sans,sans-serif"),
			g.Attr("font-size", "11"), text(0, l, left), text(l, r, right)))
}
