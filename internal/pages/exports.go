package pages

import (
	"fmt"
	"net/url"
	"strings"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"github.com/trendvidstream/ingest/internal/report"
	"github.com/trendvidstream/ingest/internal/term"
)

// Export is a page's view in a format that a reader can take away.
type Export struct{ Kind, Name, Href string }

// The media types of exports.
const (
	typeJSON = "application/json"
	typeCSV  = "text/csv"
	typeAtom = "application/atom+xml"
)

// takeAway links to the page's exports. With a script a click on the last of them, which leads to the page itself, copies
// its address.
func (p Page) takeAway() g.Node {
	if len(p.Take) == 0 {
		return nil
	}
	return chips("Take this away", h.Span(h.Class("soft"), g.Text("Take this away")), g.Map(p.Take, func(e Export) g.Node {
		return h.A(h.Href(e.Href), g.If(e.Kind != "", h.Type(e.Kind)), g.If(e.Kind == "", h.Data("copy", "")), g.Text(e.Name))
	}))
}

// aboutVideos describes a list by its first three videos, and returns the picture of the first.
func aboutVideos(videos []report.VideoDocument) (about, face string) {
	for i, v := range videos[:min(3, len(videos))] {
		if i == 0 {
			face = v.Thumbnail
		}
		title := []rune(named(v.Title)) // a title may have any number of characters without width
		about += fmt.Sprintf("%d. %s  ", i+1, term.Fit(string(title[:min(len(title), 140)]), 70))
	}
	return strings.TrimSpace(about), face
}

// preview is what other sites show beside a link to the page.
func (s *Site) preview(p Page) g.Node {
	if p.About == "" {
		return nil
	}
	property := func(name, content string) g.Node { return h.Meta(g.Attr("property", name), h.Content(content)) }
	return g.Group{
		h.Meta(h.Name("description"), h.Content(p.About)), h.Meta(h.Name("twitter:card"), h.Content("summary")),
		property("og:title", p.Title), property("og:description", p.About), property("og:type", "website"), property("og:site_name", s.name()),
		g.If(p.Face != "" && s.Pictures && s.StandIn == "", property("og:image", p.Face)),
	}
}

// exports is a chart's page with its exports, which keep what the reader has chosen. Feeds follow the newest chart.
func (doc shownChart) exports(title string, hidden bool) Page {
	to := func(others ...string) string {
		params := changed(changed(doc.asked, "also", "", "change", doc.params.Get("show")), others...)
		return "/v1/charts/" + url.PathEscape(doc.region) + "?" + params.Encode()
	}
	page := Page{Title: title, Tab: "/charts", JSON: to("also", "true")}
	page.Take = []Export{{typeCSV, "CSV", to("format", "csv", "course", "true")}, {typeJSON, "JSON", page.JSON}}
	if !hidden {
		page.Take = append(page.Take, Export{typeAtom, "Feed of new videos", to("format", "atom", "at", "", "partial", "", "compare", "24h", "change", "new")})
	}
	page.Take = append(page.Take, Export{typeAtom, "Feed of the first ten", to("format", "atom", "at", "", "partial", "", "compare", "", "change", "", "limit", "10")},
		Export{"", "Copy link", doc.at(doc.Slot)})
	var videos []report.VideoDocument
	for _, v := range doc.chosen() {
		videos = append(videos, v.VideoDocument)
	}
	page.About, page.Face = aboutVideos(videos)
	return page
}
