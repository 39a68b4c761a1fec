package pages

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"github.com/trendvidstream/ingest/internal/report"
	"github.com/trendvidstream/ingest/regions"
)

// place is a video's ranks in two charts; 0: it is not in that chart.
type place struct {
	report.VideoDocument
	ranks [2]int
}

// beside is a page of two charts side by side: of two regions, or of one region at two times. row shows a video.
func (doc shownChart) beside(r *http.Request, docs *report.Documents, other string,
	row func(v report.VideoDocument, first g.Node) g.Node) (Page, error) {
	region, params := other, url.Values{"at": {doc.Slot.UTC().Format(time.RFC3339)}}
	if at, err := time.Parse(time.RFC3339, other); err == nil {
		region, params = string(doc.Region), url.Values{"at": {at.UTC().Format(time.RFC3339)}, "job": {doc.Job}}
	}
	second, err := docs.Chart(r.Context(), region, params)
	if err != nil {
		return Page{}, err
	}
	names := [2]string{string(doc.Region), string(second.Region)}
	title := regions.NameInText(doc.Region) + " beside " + regions.NameInText(second.Region)
	if names[0] == names[1] {
		names, title = [2]string{"now", "then"}, regions.NameInText(doc.Region)+" at two times"
	}
	places := placesOf(doc.whole, second.ChartDocument.Items)
	sets := map[string]func(place) bool{
		"": func(place) bool { return true }, "both": func(p place) bool { return p.ranks[0] > 0 && p.ranks[1] > 0 },
		"first": func(p place) bool { return p.ranks[1] == 0 }, "second": func(p place) bool { return p.ranks[0] == 0 },
	}
	only := r.URL.Query().Get("only")
	if sets[only] == nil {
		return Page{}, fmt.Errorf("%w: only: there is no such choice", report.ErrNotFound)
	}
	to := func(only string) string {
		return doc.path() + "?" + changed(doc.params, "from", "", "show", "", "since", "", pickBeside,
			other, "only", only).Encode()
	}
	var choices g.Group
	for _, c := range []struct{ only, words string }{{"", "All"}, {"both", "in both"}, {"first", "only " + names[0]},
		{"second", "only " + names[1]}} {
		n := len(slices.DeleteFunc(slices.Clone(places), func(p place) bool { return !sets[c.only](p) }))
		choices = append(choices, chip(to(c.only), fmt.Sprintf("%d %s", n, c.words), c.only == only))
	}
	shown := slices.DeleteFunc(places, func(p place) bool { return !sets[only](p) })
	const most = 100 // the places that matter
	page := Page{Title: "Most popular: " + title, Tab: "/charts"}
	page.Main = g.Group{
		h.Div(h.Class("top"), h.Div(h.H1(g.Text(page.Title)), h.P(h.Class("soft"), g.Text(names[0]+" is of "), moment(
			doc.Slot, dayAndTime+" UTC"), g.Text(", "+names[1]+" of "), moment(second.Slot, dayAndTime+" UTC"), g.Text("."))),
			chips("Show", choices, link(doc.with("", ""), "One chart"))),
		h.P(h.Class("soft two"), h.B(g.Text(names[0])), g.Text(" "), h.B(g.Text(names[1]))),
		h.Ol(h.Class("rows beside"), g.Map(shown[:min(most, len(shown))], func(p place) g.Node {
			return row(p.VideoDocument, h.Span(h.Class("pos two"), rankIn(names[0], p.ranks[0]),
				g.Text(" "), rankIn(names[1], p.ranks[1])))
		})),
		g.If(len(shown) > most, h.P(h.Class("soft"), g.Textf("These are the first %d of %d.", most, len(shown)))),
	}
	return page, nil
}

// placesOf merges two charts, the best ranks first.
func placesOf(first, second []report.ChartItem) (places []place) {
	at := map[string]int{}
	for i, chart := range [][]report.ChartItem{first, second} {
		for _, v := range chart {
			if _, known := at[v.VideoID]; !known {
				at[v.VideoID], places = len(places), append(places, place{VideoDocument: v.VideoDocument})
			}
			places[at[v.VideoID]].ranks[i] = v.Rank
		}
	}
	best := func(p place) int {
		if p.ranks[0] == 0 || p.ranks[1] == 0 {
			return p.ranks[0] + p.ranks[1]
		}
		return min(p.ranks[0], p.ranks[1])
	}
	slices.SortStableFunc(places, func(a, b place) int { return cmp.Compare(best(a), best(b)) })
	return places
}

func rankIn(name string, rank int) g.Node {
	text := "–"
	if rank > 0 {
		text = strconv.Itoa(rank)
	}
	return h.B(spoken(name+" "), g.Text(text))
}
