package pages

import (
	"net/url"

	"github.com/trendvidstream/ingest/internal/report"
)

// exports returns a chart's page; its exports keep the reader's choice. Feeds follow the newest chart.
func (doc shownChart) exports(title string, hidden bool) Page {
	to := func(others ...string) string {
		params := changed(changed(doc.asked, "also", "", "change", doc.params.Get("show")), others...)
		return "/v1/charts/" + url.PathEscape(doc.region) + "?" + params.Encode()
	}
	page := Page{Title: title, Tab: "/charts", JSON: to("also", "true")}
	page.Take = []Export{{typeCSV, "CSV", to("format", "csv", "course", "true")}, {typeJSON, "JSON", page.JSON}}
	if !hidden {
		page.Take = append(page.Take, Export{typeAtom, "Feed of new videos",
			to("format", "atom", "at", "", "partial", "", "compare", "24h", "change", "new")})
	}
	page.Take = append(page.Take, Export{typeAtom, "Feed of the first ten",
		to("format", "atom", "at", "", "partial", "", "compare", "", "change", "", "limit", "10")},
		Export{"", "Copy link", doc.at(doc.Slot)})
	var videos []report.VideoDocument
	for _, v := range doc.chosen() {
		videos = append(videos, v.VideoDocument)
	}
	page.About, page.Face = aboutVideos(videos)
	return page
}
