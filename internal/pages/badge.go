package pages

import (
	"fmt"
	"net/http"
	"strings"
	"unicode/utf8"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"github.com/trendvidstream/ingest/internal/report"
)

// badgeColours are for white text, by mood.
var badgeColours = map[report.Mood]string{report.Good: "#1a7742", report.Warn: "#8c5200", report.Bad: "#b3261e", report.Idle: "#5e5b54"}

// badge is a picture of how fresh a region's chart is, and its age, for other pages: /badge/US.svg.
func (s *Site) badge(w http.ResponseWriter, r *http.Request) {
	region, isSVG := strings.CutSuffix(r.PathValue("file"), ".svg")
	region = strings.ToUpper(region)
	var state State
	if s.Fresh != nil {
		state = s.Fresh(r.Context())[region]
	}
	if !isSVG || state.Word == "" {
		s.Fail(w, r, Page{Code: http.StatusNotFound, Title: "There is no such badge"}, "A badge is of a region that is charted, such as /badge/US.svg.")
		return
	}
	left, right := region+" chart", strings.TrimSuffix(state.Word+", "+state.Age, ", ")
	header := w.Header()
	header.Set("Content-Type", icon.kind)
	header.Set("Cache-Control", "public, max-age=60")
	_ = badgeOf(left, right, badgeColours[state.Mood]).Render(w) // the client may be gone
}

// badgeOf draws two texts side by side.
func badgeOf(left, right, colour string) g.Node {
	const high, letter, room = 20, 7, 12 // pixels; a letter of 11 px is 7 px wide at most, on average
	wide := func(text string) int { return utf8.RuneCountInString(text)*letter + room }
	box := func(x, width int, colour string) g.Node {
		return g.El("rect", number("x", x), number("width", width), number("height", high), g.Attr("fill", colour))
	}
	text := func(x, width int, words string) g.Node {
		return g.El("text", number("x", x+width/2), number("y", 14), g.Attr("text-anchor", "middle"), number("textLength", width-room), g.Text(words))
	}
	l, r := wide(left), wide(right)
	return g.El("svg", g.Attr("xmlns", "http://www.w3.org/2000/svg"), number("width", l+r), number("height", high), h.Role("img"), h.Aria("label", fmt.Sprintf("%s: %s", left, right)),
		box(0, l, "#444"), box(l, r, colour),
		g.El("g", g.Attr("fill", "#fff"), g.Attr("font-family", "Verdana,DejaVu Sans,sans-serif"), g.Attr("font-size", "11"), text(0, l, left), text(l, r, right)))
}
