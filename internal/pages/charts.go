package pages

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"github.com/trendvidstream/ingest/internal/report"
	"github.com/trendvidstream/ingest/internal/term"
)

// chart is the page of a region's chart. /charts is that of the first region.
func (s *Site) chart(w http.ResponseWriter, r *http.Request) {
	lib, err := s.Library()
	if err != nil {
		s.refuse(w, r, err)
		return
	}
	all, err := lib.Regions(r.Context())
	region := strings.ToUpper(r.PathValue("region"))
	if region == "" && len(all.Regions) > 0 {
		region = string(all.Regions[0].Region)
	}
	if err != nil {
		s.refuse(w, r, err)
		return
	}
	params := url.Values{"also": {"true"}}
	for _, name := range []string{"at", "job", "partial"} {
		if given := r.URL.Query().Get(name); given != "" {
			params.Set(name, given)
		}
	}
	since := r.URL.Query().Get("since")
	if since == "" {
		since = "6h"
	}
	doc, err := s.readChart(r.Context(), lib, region, params, since)
	if err != nil {
		s.refuse(w, r, err)
		return
	}
	from, _ := strconv.Atoi(r.URL.Query().Get("from")) // what is no number is the first page
	if from = max(from, 1); from > len(doc.ChartDocument.Items) {
		from = 1
	}
	json := "/v1/charts/" + url.PathEscape(region) + "?" + params.Encode()
	name := region
	for _, known := range all.Regions {
		if string(known.Region) == region {
			name = known.Name
		}
	}
	s.Show(w, r, http.StatusOK, Page{Title: "Trending in " + name, Tab: "/charts", JSON: json, Main: g.Group{
		tabs(all, region), s.chartHead(doc, name), s.chartRows(doc, from), chartPages(r.URL, from, len(doc.ChartDocument.Items)), s.left(doc),
	}})
}

// readChart compares the chart with an older one, if there is one and derived metrics are shown.
func (s *Site) readChart(ctx context.Context, lib *report.Library, region string, params url.Values, since string) (report.MovesDocument, error) {
	if !s.Hidden {
		params.Set("compare", since)
		doc, err := lib.Chart(ctx, region, params)
		if !errors.Is(err, report.ErrNotFound) {
			return doc, err
		}
		params.Del("compare")
	}
	return lib.Chart(ctx, region, params)
}

func tabs(all report.RegionsDocument, current string) g.Node {
	return h.Nav(h.Class("tabs"), h.Aria("label", "Regions"), g.Map(all.Regions, func(r report.RegionDocument) g.Node {
		return h.A(h.Href("/charts/"+string(r.Region)), g.If(string(r.Region) == current, h.Aria("current", "page")),
			g.Text(string(r.Region)), spoken(" "+r.Name))
	}))
}

func (s *Site) chartHead(doc report.MovesDocument, name string) g.Node {
	fetched := "not fetched as a whole"
	if doc.FetchedAt != nil {
		fetched = "fetched " + term.Ago(s.Now().Sub(*doc.FetchedAt)) + " ago"
	}
	if doc.Partial {
		fetched += ", and stopped half-way"
	}
	step := func(t *time.Time, rel, key, text string) g.Node {
		if t == nil {
			return h.Span(g.Text(text))
		}
		return h.A(h.Href(chartPath(doc.ChartDocument, *t)), h.Rel(rel), h.Aria("keyshortcuts", key), g.Text(text+" "+t.UTC().Format("15:04")))
	}
	return h.Div(h.Class("top"),
		h.Div(h.H1(g.Text("Trending in "+name)),
			h.P(h.Class("soft"), g.Textf("%s, %s", term.Plural(len(doc.ChartDocument.Items), "video"), fetched))),
		h.Nav(h.Class("steps"), h.Aria("label", "Time"),
			step(doc.Earlier, "prev", "ArrowLeft", "‹"),
			h.Span(h.Aria("current", "true"), g.Text(doc.Slot.UTC().Format("Mon 2 Jan, 15:04"))),
			step(doc.Later, "next", "ArrowRight", "›"),
			g.If(doc.Later != nil, h.A(h.Href("/charts/"+string(doc.Region)), g.Text("Newest")))))
}

func chartPath(doc report.ChartDocument, at time.Time) string {
	return "/charts/" + string(doc.Region) + "?" + url.Values{"at": {at.UTC().Format(time.RFC3339)}, "job": {doc.Job}}.Encode()
}

// chartPage is how many videos of a chart a page shows.
const chartPage = 40

// chartPages leads to the rest of a chart.
func chartPages(at *url.URL, from, all int) g.Node {
	if all <= chartPage {
		return nil
	}
	step := func(to int, rel, text string) g.Node {
		if to < 1 || to > all {
			return h.Span(g.Text(text))
		}
		link := at.Query()
		link.Set("from", strconv.Itoa(to))
		return h.A(h.Href(at.EscapedPath()+"?"+link.Encode()), h.Rel(rel), g.Text(text))
	}
	back := from - chartPage
	if from > 1 {
		back = max(back, 1)
	}
	return h.Nav(h.Class("steps part"), h.Aria("label", "Pages"), step(back, "prev", "‹ Back"),
		h.Span(h.Aria("current", "page"), g.Textf("%d to %d of %d", from, min(from+chartPage-1, all), all)), step(from+chartPage, "next", "Next ›"))
}

// chartRows shows the videos from a place in the list on.
func (s *Site) chartRows(doc report.MovesDocument, from int) g.Node {
	var rows g.Group
	at := 0
	row := func(v report.ChartItem, move g.Node) {
		if at++; at < from || at >= from+chartPage {
			return
		}
		rows = append(rows, s.row(Row{Video: v.VideoDocument, Also: also(v.Also),
			First: h.Span(h.Class("pos"), h.B(g.Text(fmt.Sprint(v.Rank))), g.Text(" "), move)}))
	}
	for _, v := range doc.Items {
		row(v.ChartItem, moved(v))
	}
	if !doc.Compared() {
		for _, v := range doc.ChartDocument.Items {
			row(v, nil)
		}
	}
	var since g.Node
	if doc.Compared() {
		choice := func(text, length string) g.Node {
			return h.A(h.Href(chartPath(doc.ChartDocument, doc.Slot)+"&since="+length), g.Text(text))
		}
		since = h.P(h.Class("chips"), g.Textf("Since %s: %d new, %d rose, %d fell, %d left. Compare with", doc.ComparedTo.UTC().Format("Mon 15:04"),
			doc.Changes["new"], doc.Changes["risen"], doc.Changes["fallen"], doc.Changes["gone"]),
			choice("30 min before", "30m"), choice("6 h", "6h"), choice("24 h", "24h"))
	}
	return g.Group{since, h.Ol(h.Class("rows"), rows)}
}

// moved says how a video has moved.
func moved(v report.MoveItem) g.Node {
	mark := func(class, shape, word string, by int) g.Node {
		return h.Span(h.Class("move "+class), h.Span(h.Aria("hidden", "true"), g.Text(shape)), spoken(word+" "), g.If(by > 0, g.Text(fmt.Sprint(by))))
	}
	switch {
	case v.WasRank == nil:
		return h.Span(h.Class("move new"), g.Text("new"))
	case *v.WasRank > v.Rank:
		return mark("up", "▲", "up", *v.WasRank-v.Rank)
	case *v.WasRank < v.Rank:
		return mark("down", "▼", "down", v.Rank-*v.WasRank)
	}
	return mark("", "=", "unchanged", 0)
}

// also names the best places in other regions.
func also(places []report.PlaceDocument) g.Node {
	const most = 3
	var names []string
	for _, p := range places[:min(most, len(places))] {
		names = append(names, fmt.Sprintf("%s %d", p.Region, p.Rank))
	}
	text := strings.Join(names, ", ")
	if len(places) > most {
		text += fmt.Sprintf(" +%d", len(places)-most)
	}
	if text != "" {
		text = "also " + text
	}
	return h.Span(h.Class("also soft"), g.Text(text))
}

// left lists what is no longer in the chart.
func (s *Site) left(doc report.MovesDocument) g.Node {
	if len(doc.Gone) == 0 {
		return nil
	}
	return h.Details(h.ID("left"), h.Summary(h.B(g.Textf("%d left the chart", len(doc.Gone)))),
		h.Table(h.Tr(h.Th(g.Text("Video")), h.Th(h.Class("num"), g.Text("Last rank"))), g.Map(doc.Gone, func(v report.MoveItem) g.Node {
			return h.Tr(h.Td(h.A(h.Class("title"), h.Dir("auto"), h.Href(videoPath(v.VideoID)), g.Text(term.Clean(v.Title)))), h.Td(h.Class("num"), g.Text(fmt.Sprint(v.Rank))))
		})))
}

// refuse shows why a page cannot be made.
func (s *Site) refuse(w http.ResponseWriter, r *http.Request, err error) {
	for known, code := range map[error]int{report.ErrNotFound: http.StatusNotFound, report.ErrBadRequest: http.StatusBadRequest} {
		if errors.Is(err, known) {
			s.Fail(w, r, code, "There is nothing here", term.Clean(strings.TrimPrefix(err.Error(), known.Error()+": ")))
			return
		}
	}
	s.Fail(w, r, http.StatusServiceUnavailable, "This cannot be read right now", "The status page says why. Try again soon.")
}
