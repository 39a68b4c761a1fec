package pages

import (
	"cmp"
	"slices"
	"strings"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"github.com/trendvidstream/ingest/internal/report"
	"github.com/trendvidstream/ingest/internal/term"
)

// filter is one parameter of a search with its possible values, each with how many videos it would leave.
type filter struct {
	heading, name string
	any           string                 // label of no choice
	values        []report.CountDocument // the first, "", is without the filter
	counted       bool
}

// unset are the values of a filter that only an address can set.
var unset = []report.CountDocument{{}}

// filtersOf returns the order and the filters of a search.
func (s *Site) filtersOf(c report.CountsDocument) []filter {
	orders := []report.CountDocument{{Name: "Relevance"}, {Value: "views", Name: "Views"},
		{Value: "freshness", Name: "Newest"}}
	if !s.Hidden {
		orders = append(orders, report.CountDocument{Value: "rise", Name: "Rising"})
	}
	return []filter{
		{"Order", "order", "", orders, false},
		{"Charted in", "region", "Any region", c.Regions, true}, {"Category", "category", "Any", c.Categories, true},
		{"Published", "published_since", "Any time", c.Published, true}, {"Views", "min_views", "Any", c.Views, true},
		{"Length", "length", "Any", c.Lengths, true},
		{"Published before", "published_until", "Any time", unset, false},
		{"Last seen since", "seen_since", "Any time", unset, false},
	}
}

// shown are the values that leave something, and the chosen one in any case.
func (f filter) shown(chosen string) []report.CountDocument {
	shown := slices.DeleteFunc(slices.Clone(f.values), func(v report.CountDocument) bool {
		return f.counted && v.Videos == 0 && v.Value != "" && v.Value != chosen
	})
	if !slices.ContainsFunc(shown, func(v report.CountDocument) bool { return v.Value == chosen }) {
		shown = append(shown, report.CountDocument{Value: chosen, Videos: -1})
	}
	return shown
}

// label is the name of a value.
func (f filter) label(v report.CountDocument) string {
	switch {
	case v.Value == "":
		return cmp.Or(v.Name, f.any)
	case v.Name == "" && f.name == "category":
		return "Category " + term.Fit(v.Value, 30) // its name has not been fetched
	}
	return cmp.Or(v.Name, valueNames[v.Value], term.Fit(v.Value, 30))
}

// filters are links to the same search with one filter changed.
func (s *Site) filters(doc report.SearchDocument, a asked) g.Node {
	if doc.Counts == nil {
		return nil
	}
	var groups g.Group
	var set []string
	var order string
	for _, f := range s.filtersOf(*doc.Counts) {
		chosen, values := a.filters.Get(f.name), f.shown(a.filters.Get(f.name))
		if len(values) == 1 {
			continue // there is nothing to choose
		}
		name := f.label(values[slices.IndexFunc(values, func(v report.CountDocument) bool { return v.Value == chosen })])
		switch {
		case f.name == "order":
			order = strings.ToLower(name)
		case chosen != "":
			set = append(set, name)
		}
		groups = append(groups, h.H2(g.Text(f.heading)),
			h.Div(h.Class("chips"), g.Map(values, func(v report.CountDocument) g.Node {
				return h.A(h.Href(a.link(f.name, v.Value)), g.If(v.Value == chosen, h.Aria("current", "true")),
					g.El("bdi", g.Text(f.label(v))), g.Text(" "),
					g.If(f.counted && v.Videos >= 0, h.Small(g.Text(term.Thousands(int64(v.Videos))))))
			})))
	}
	if set == nil {
		set = []string{"none set"}
	}
	return h.Details(h.Class("filters"),
		h.Summary(g.Text("Filters and order "), h.Small(g.Text(strings.Join(set, ", ")+"; by "+order))), h.Div(groups))
}
