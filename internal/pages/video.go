package pages

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"github.com/trendvidstream/ingest/internal/report"
	"github.com/trendvidstream/ingest/internal/term"
)

// video is the page of a video: its facts, and its newest places in the charts.
func (s *Site) video(w http.ResponseWriter, r *http.Request) {
	lib, err := s.Library()
	if err != nil {
		s.refuse(w, r, err)
		return
	}
	id := r.PathValue("id")
	doc, err := lib.Video(r.Context(), id, url.Values{"since": {"7d"}})
	if err != nil {
		s.refuse(w, r, err)
		return
	}
	searchFor := func(words, text string) g.Node {
		return h.A(h.Href("/search?"+url.Values{"q": {words}}.Encode()), g.El("bdi", g.Text(term.Clean(text))))
	}
	fact := func(name, value string) g.Node {
		return g.If(value != "", g.Group{h.Dt(g.Text(name)), h.Dd(g.Text(value))})
	}
	published := ""
	if doc.PublishedAt != nil {
		published = doc.PublishedAt.UTC().Format("Mon 2 Jan 2006, 15:04 UTC")
	}
	s.Show(w, r, http.StatusOK, Page{Title: term.Fit(term.Clean(doc.Title), 60), JSON: "/v1/videos/" + url.PathEscape(id), Main: g.Group{
		h.Div(h.Class("video"), s.picture(doc.VideoDocument), h.Div(
			h.H1(h.Class("title"), h.Dir("auto"), g.Text(term.Clean(doc.Title))),
			h.P(searchFor(`channel:"`+doc.Channel+`"`, doc.Channel)),
			h.Dl(h.Class("facts"), fact("Views", term.Count(doc.Views)), fact("Published", published), fact("Likes", term.Count(doc.Likes)),
				fact("Comments", term.Count(doc.Comments)), fact("Category", doc.Named)),
			h.P(h.Class("steps"), h.A(h.Href(doc.URL), h.Rel("noreferrer"), g.Text("Watch on "+s.Provider.Name+" ↗"))))),
		s.places(doc.Sightings),
		g.If(len(doc.Tags) > 0, h.Section(h.Class("part"), h.H2(g.Text("Tags")), h.P(h.Class("chips"), g.Map(doc.Tags, func(tag string) g.Node { return searchFor(`tag:"`+tag+`"`, tag) })))),
	}})
}

// places lists the newest sightings first.
func (s *Site) places(all []report.SightingDocument) g.Node {
	const most = 100
	newest := slices.Clone(all)
	slices.Reverse(newest)
	newest = newest[:min(most, len(newest))]
	return h.Section(h.Class("part"), h.H2(g.Text("Charts of the last 7 days")), g.If(len(newest) == 0, h.P(g.Text("It was in none of the charts that are kept."))),
		g.If(len(newest) > 0, h.Div(h.Class("scroll"), h.TabIndex("0"), h.Role("group"), h.Aria("label", "Charts of the last 7 days"), h.Table(
			h.Tr(h.Th(g.Text("Slot, UTC")), h.Th(g.Text("Region")), h.Th(g.Text("Job")), h.Th(h.Class("num"), g.Text("Rank")), h.Th(h.Class("num"), g.Text("Views")), g.If(!s.Hidden, h.Th(h.Class("num"), g.Text("Gained")))),
			g.Map(newest, func(p report.SightingDocument) g.Node {
				chart := chartPath(report.ChartDocument{Region: p.Region, Job: p.Job}, p.Slot)
				return h.Tr(h.Td(moment(p.Slot, "Mon 2 Jan, 15:04")), h.Td(h.A(h.Href(chart), g.Text(string(p.Region)))), h.Td(g.Text(p.Job)),
					h.Td(h.Class("num"), g.Text(fmt.Sprint(p.Rank))), h.Td(h.Class("num"), g.Text(term.Count(p.Views))), g.If(!s.Hidden, h.Td(h.Class("num"), g.Text(term.Gain(p.ViewsGained)))))
			})))))
}
