package pages

import (
	"net/http"
	"net/url"
	"strings"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/internal/report"
	"github.com/trendvidstream/ingest/internal/term"
)

// maxQuery is how much of a query is looked at, in bytes.
const maxQuery = 1000

// search is the page of a search. Its filters are links, so that it needs no script.
func (s *Site) search(w http.ResponseWriter, r *http.Request) {
	given := r.URL.Query()
	query := strings.ToValidUTF8(given.Get("q")[:min(maxQuery, len(given.Get("q")))], "")
	page := Page{Title: "Search", Query: query, Main: g.Group{h.H1(g.Text("Search")), h.P(h.Class("soft"), g.Text("Type words of a title, a channel or a tag. A search costs no quota."))}}
	if strings.TrimSpace(query) == "" {
		s.Show(w, r, http.StatusOK, page)
		return
	}
	params := url.Values{"q": {query}}
	for _, name := range []string{"region", "category", "published_since", "min_views", "order", "after"} {
		if value := given.Get(name); value != "" {
			params.Set(name, value)
		}
	}
	page.Title, page.JSON = term.Fit(query, 40)+" · Search", "/v1/search?"+params.Encode()
	lib, err := s.Library()
	if err != nil {
		s.refuse(w, r, err)
		return
	}
	asked := url.Values{"counts": {"true"}}
	for name, values := range params {
		asked[name] = values
	}
	doc, err := lib.Search(r.Context(), asked)
	if err != nil {
		s.refuse(w, r, err)
		return
	}
	page.Main = g.Group{h.H1(h.Class("sr"), g.Text("Search")), found(doc), h.Div(h.Class("find"), s.filters(doc, params), h.Div(
		h.Ol(h.Class("rows"), g.Map(doc.Items, func(v report.SearchItem) g.Node {
			return s.row(Row{Video: v.VideoDocument, Marks: v.Highlight, Under: codes(v.Regions)})
		})), nextPage(doc, params)))}
	s.Show(w, r, http.StatusOK, page)
}

// found says what was found, and what was looked for where that is not what was typed.
func found(doc report.SearchDocument) g.Node {
	if doc.Hint != "" {
		return h.P(g.Text("Nothing was searched for: " + doc.Hint + "."))
	}
	text := "No video matches "
	if c := doc.Counts; c != nil && c.Matches > 0 {
		text = term.Thousands(int64(c.Matches))
		if c.AtLeast {
			text += " or more"
		}
		text += " videos match "
		if c.Matches == 1 {
			text = "1 video matches "
		}
	}
	return h.P(g.Text(text), h.B(g.El("bdi", g.Text(term.Clean(doc.Looked)))), g.Text("."),
		g.If(doc.Forgiven, h.Span(h.Class("soft"), g.Text(" Little matches “"+term.Clean(term.Fit(doc.Query, 60))+"” as typed."))))
}

func codes(regions []ingest.Region) string {
	var all []string
	for _, r := range regions {
		all = append(all, string(r))
	}
	return strings.Join(all, ", ")
}

func (s *Site) filters(doc report.SearchDocument, params url.Values) g.Node {
	if doc.Counts == nil {
		return nil
	}
	order := []report.CountDocument{{Name: "Relevance"}, {Value: "views", Name: "Views"}, {Value: "freshness", Name: "Newest"}}
	if !s.Hidden {
		order = append(order, report.CountDocument{Value: "rise", Name: "Rising"})
	}
	words := map[string]string{"24h": "Last 24 hours", "168h": "Last 7 days", "1000000": "1 million or more"}
	group := func(heading, name, anyOf string, values []report.CountDocument) g.Node {
		return g.Group{h.H2(g.Text(heading)), h.Div(h.Class("chips"), g.Map(values, func(c report.CountDocument) g.Node {
			if c.Videos == 0 && c.Value != "" && name != "order" {
				return nil
			}
			text := anyOf
			for _, other := range []string{c.Value, words[c.Value], c.Name} {
				if other != "" {
					text = other
				}
			}
			link := url.Values{}
			for known, values := range params {
				if known != name && known != "after" {
					link[known] = values
				}
			}
			if c.Value != "" {
				link.Set(name, c.Value)
			}
			return h.A(h.Href("/search?"+link.Encode()), g.If(params.Get(name) == c.Value, h.Aria("current", "true")), g.Text(text+" "),
				g.If(name != "order", h.Small(g.Text(term.Thousands(int64(c.Videos))))))
		}))}
	}
	return h.Details(h.Class("filters"), h.Summary(g.Text("Filters and order")), h.Div(
		group("Order", "order", "", order), group("Charted in", "region", "Any region", doc.Counts.Regions), group("Category", "category", "Any", doc.Counts.Categories),
		group("Published", "published_since", "Any time", doc.Counts.Published), group("Views", "min_views", "Any", doc.Counts.Views)))
}

func nextPage(doc report.SearchDocument, params url.Values) g.Node {
	if doc.Next == nil {
		return nil
	}
	link := url.Values{"after": {*doc.Next}}
	for name, values := range params {
		if name != "after" {
			link[name] = values
		}
	}
	return h.Nav(h.Class("steps part"), h.Aria("label", "Pages"), h.A(h.Href("/search?"+link.Encode()), h.Rel("next"), g.Text("Next ›")))
}
