package pages

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/internal/report"
	"github.com/trendvidstream/ingest/internal/term"
)

// view is a reader's choice about a chart, as in the page's URL.
type view struct {
	region string
	params url.Values
	pick   string // the picker that is open: pickAt or pickSince; "": none
}

func viewOf(r *http.Request) view {
	v := view{region: strings.ToUpper(r.PathValue("region")), params: url.Values{}, pick: r.URL.Query().Get("pick")}
	for _, name := range []string{"at", "job", "partial", "since", "show", "category", "length", "from"} {
		if given := r.URL.Query().Get(name); given != "" {
			v.params.Set(name, given)
		}
	}
	return v
}

func (v view) path() string { return "/charts/" + url.PathEscape(v.region) }

// with returns the address of the same view with one choice changed; value "" removes it. Every choice except the
// choice of a page leads back to the list's first page.
func (v view) with(name, value string) string {
	params := changed(v.params, "from", "", name, value)
	if len(params) == 0 {
		return v.path()
	}
	return v.path() + "?" + params.Encode()
}

// at is the address of the same view at another time.
func (v view) at(t time.Time) string { return v.with("at", t.UTC().Format(time.RFC3339)) }

// shownChart is a chart with what else the page says about it.
type shownChart struct {
	report.MovesDocument

	view
	whole   []report.ChartItem // of all categories and lengths
	asked   url.Values         // the parameters of the same document in the API
	since   string             // the chart that it is compared with; "": nothing
	tooOld  bool               // no chart as old as the one to compare with is kept
	stopped *time.Time         // slot of a later fetch that was stopped half-way; nil: there is none
}

// rowsAPage is how many videos a page of a chart lists. It keeps pages small even with the longest titles.
const rowsAPage = 30

// shownChange is a change that the list can be narrowed to, and its word.
type shownChange struct{ change, word string }

var shownChanges = []shownChange{{"new", "new"}, {"risen", "rose"}, {"fallen", "fell"}, {"gone", "left"}}

// moves are links: to the videos that moved in one way, and to the chart to compare with.
func moves(doc shownChart) g.Node {
	others := g.Group{doc.opener(pickFilter, g.Text(doc.filtered())), doc.opener(pickBeside, g.Text("Side by side"))}
	if doc.since == "" && !doc.tooOld {
		return h.Div(h.Class("top strips"), chips("Show", others))
	}
	choice := func(name, value, text string) g.Node {
		return chip(doc.with(name, value), text, doc.params.Get(name) == value || name == "since" && doc.since == value)
	}
	choices := chips("Moved since", h.Span(h.Class("soft"), g.Text("moved since")),
		choice("since", "30m", "30 min"), choice("since", "6h", "6 h"), choice("since", "24h", "24 h"),
		doc.opener(pickSince, g.Text("another time")), others)
	if doc.tooOld {
		return h.Div(h.Class("top strips"), choices)
	}
	counted := g.Group{choice("show", "", "All")}
	for _, c := range shownChanges {
		if n := doc.Changes[c.change]; n > 0 {
			counted = append(counted, choice("show", c.change, fmt.Sprintf("%d %s", n, c.word)))
		}
	}
	return h.Div(h.Class("top strips"), chips("Show", counted,
		h.Span(h.Class("soft wide"), g.Text("since "), moment(doc.ComparedTo, dayAndTime+" UTC"))), choices)
}

// checkRows refuses an address that names no rows of the chart: links lead to none.
func (doc shownChart) checkRows() error {
	show, from, length := doc.params.Get("show"), doc.params.Get("from"), doc.params.Get("length")
	if _, err := ingest.ParseLength(length); length != "" && err != nil {
		return fmt.Errorf("%w: length: %w", report.ErrNotFound, err)
	}
	if show != "" && !slices.ContainsFunc(shownChanges, func(c shownChange) bool { return c.change == show }) {
		return fmt.Errorf("%w: show: there is no such choice", report.ErrNotFound)
	}
	if from == "" {
		return nil
	}
	if n, err := strconv.Atoi(from); err != nil || n < 1 || n > len(doc.chosen()) {
		return fmt.Errorf("%w: from: the list has %d videos", report.ErrNotFound, len(doc.chosen()))
	}
	return nil
}

// chosen returns the videos of a chart that the reader wants to see.
func (doc shownChart) chosen() []report.MoveItem {
	show := doc.params.Get("show")
	switch _, known := doc.Changes[show]; {
	case !doc.Compared():
		var all []report.MoveItem
		for _, v := range doc.ChartDocument.Items {
			all = append(all, report.MoveItem{ChartItem: v})
		}
		return all
	case !known:
		return doc.Items
	case show == "gone":
		return doc.Gone
	}
	return slices.DeleteFunc(slices.Clone(doc.Items), func(v report.MoveItem) bool { return v.Change != show })
}

// moved says how a video has moved; nil if that is not known.
func moved(v report.MoveItem) g.Node {
	switch {
	case v.Change == "":
		return nil
	case v.Change == "gone":
		return h.Span(h.Class("move"), g.Text("left"))
	case v.WasRank == nil:
		return h.Span(h.Class("move new"), g.Text("new"))
	}
	return rankMove(*v.WasRank, v.Rank)
}

// also names the best places in other regions.
func also(places []report.PlaceDocument) string {
	const most = 3
	names := term.Texts(places[:min(most, len(places))],
		func(p report.PlaceDocument) string { return fmt.Sprintf("%s\u00a0%d", p.Region, p.Rank) })
	text := strings.Join(names, ", ")
	if len(places) > most {
		text += fmt.Sprintf(" +%d", len(places)-most)
	}
	if text != "" {
		text = "also " + text
	}
	return term.Clean(text)
}

func charted(region report.RegionDocument) bool {
	return slices.ContainsFunc(region.Jobs, func(job report.ChartJobDocument) bool { return job.Slot != nil })
}
