package pages

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/internal/report"
	"github.com/trendvidstream/ingest/internal/term"
)

// maxQuery is the longest query, in characters: as many as the search box takes.
const maxQuery = 1000

// asked is a search page's address, parsed.
type asked struct {
	query   string
	filters url.Values // also the order
	after   string     // the cursor of this page; "": it is the first
	from    int        // the number of its first result; 0: not known
}

// readAsked reads the address of a search page. With an error it returns the part that could be read.
func readAsked(raw string) (asked, error) {
	given, err := url.ParseQuery(raw)
	a := asked{query: strings.ToValidUTF8(given.Get("q"), ""), filters: url.Values{}, after: given.Get("after"), from: 1}
	for _, name := range []string{"region", "category", "published_since", "published_until",
		"seen_since", "min_views", "length", "order"} {
		if value := given.Get(name); value != "" && value != "relevance" {
			a.filters.Set(name, value)
		}
	}
	if region := a.filters.Get("region"); region != "" {
		a.filters.Set("region", strings.ToUpper(region))
	}
	if a.after != "" {
		a.from, _ = strconv.Atoi(given.Get("from"))
	}
	if err != nil {
		return a, fmt.Errorf("%w: the address is not well formed: type the words into the box", report.ErrBadRequest)
	}
	if n := utf8.RuneCountInString(a.query); n > maxQuery {
		a.query = string([]rune(a.query)[:maxQuery])
		return a, fmt.Errorf("%w: the query has %s characters, and at most %s can be searched for: "+
			"keep the words that matter most",
			report.ErrBadRequest, term.Thousands(int64(n)), term.Thousands(maxQuery))
	}
	return a, nil
}

// params are the parameters of the search, changed by pairs of name and value; a value "" removes one.
func (a asked) params(others ...string) url.Values {
	out := changed(a.filters, others...)
	out.Set("q", a.query)
	return out
}

// link is the address of a page of the same search with other parameters. Without a cursor it is the first page.
func (a asked) link(others ...string) string { return "/search?" + a.params(others...).Encode() }

// search is the page of a search. Its filters are links, so that it needs no script.
func (s *Site) search(r *http.Request, docs *report.Documents) (Page, error) {
	a, err := readAsked(r.URL.RawQuery)
	page := Page{Title: "Search", Query: a.query, Keep: a.filters}
	if err == nil && strings.TrimSpace(a.query) == "" {
		page.Main = howToSearch("Type words of a title, a channel or a tag. A search costs no quota.")
		return page, nil
	}
	if err != nil {
		page = a.instead()
		page.Code = http.StatusBadRequest
		return page, err
	}
	params := a.params("after", a.after, "counts", "true")
	doc, err := docs.Search(r.Context(), params)
	if err != nil { // there is no such region, or cursor
		return a.instead(), err
	}
	page.Title, page.JSON = term.Fit(a.query, 40)+" · Search", "/v1/search?"+params.Encode()
	if doc.Hint == "" {
		to := func(others ...string) string { return "/v1/search?" + a.params(others...).Encode() }
		feed := to("format", "atom", "limit", "50", "order", cmp.Or(a.filters.Get("order"), "freshness"))
		page.Take = []Export{{typeCSV, "CSV", to("format", "csv", "limit", "100", "after", a.after)},
			{typeJSON, "JSON", page.JSON}, {typeAtom, "Feed of this search", feed},
			{"", "Copy link", a.link("after", a.after)}}
		var videos []report.VideoDocument
		for _, v := range doc.Items {
			videos = append(videos, v.VideoDocument)
		}
		page.About, page.Face = aboutVideos(videos)
	}
	page.Main = howToSearch("Nothing was searched for: " + doc.Hint + ".")
	if doc.Hint == "" {
		page.Main = g.Group{h.H1(h.Class("sr"), g.Text("Search")), a.found(doc),
			h.Div(h.Class("find"), s.filters(doc, a), h.Div(
				h.Ol(h.Class("rows"), g.Map(doc.Items, func(v report.SearchItem) g.Node {
					return s.row(Row{Video: v.VideoDocument, Marks: v.Highlight, Under: under(v)})
				})), a.steps(doc)))}
	}
	return page, nil
}

// instead offers a possible search in place of one that cannot be done.
func (a asked) instead() Page {
	page := Page{Title: "This cannot be searched for", Query: a.query}
	if a.after != "" || len(a.filters) > 0 {
		page.Main = h.P(h.A(h.Href((asked{query: a.query}).link()), g.Text("Search for "),
			g.El("bdi", g.Text(term.Fit(a.query, 60))), g.Text(" without filters")))
	}
	return page
}

// howToSearch is shown where nothing was searched for.
func howToSearch(why string) g.Node {
	example := func(query, means string) g.Node { return fact(h.Code(g.Text(query)), g.Text(means)) }
	return g.Group{h.H1(g.Text("Search")), h.P(h.Class("soft"), g.Text(why)), h.Dl(h.Class("facts part"),
		example(`official trailer`, "has both words; the last one may be the beginning of a word"),
		example(`"official trailer"`, "has these words in this order"),
		example(`trailer -reaction`, "does not have the second word"),
		example(`channel:netflix tag:drama`, "has a word in the channel's name, or in a tag"))}
}

// found sums up the hits, and names the words that were searched for if they differ from those typed.
func (a asked) found(doc report.SearchDocument) g.Node {
	found := g.Text("No video matches ")
	filtered := ""
	if len(a.params("order", "")) > 1 {
		filtered = " with these filters"
	}
	if n := a.matches(doc); n != "" {
		filtered = ""
		found = g.Group{h.B(g.Text(n + " videos")), g.Text(" match ")}
		if n == "1" {
			found = g.Group{h.B(g.Text("1 video")), g.Text(" matches ")}
		}
	}
	return h.P(h.Role("status"), found, h.B(g.El("bdi", g.Text(term.Clean(doc.Interpreted)))), g.Text(filtered+"."),
		g.If(filtered != "", g.Group{g.Text(" "), link((asked{query: a.query}).link(), "Search without filters")}),
		g.If(doc.Forgiven, h.Span(h.Class("soft"), g.Text(" Little matches “"), g.El("bdi", g.Text(term.Fit(doc.Query, 60))),
			g.Text("” as typed."))),
		g.If(doc.Capped,
			h.Span(h.Class("soft"), g.Text(" So many match that only the newest are read: another word narrows it."))))
}

// matches is the number of matches; "" if there is none. Where not all were counted, the pages up to this one hold
// more.
func (a asked) matches(doc report.SearchDocument) string {
	c := doc.Counts
	if c == nil || c.Matches == 0 && len(doc.Items) == 0 {
		return ""
	}
	if !c.AtLeast {
		return term.Thousands(int64(c.Matches))
	}
	if a.from > 0 && doc.Next == nil && !doc.Capped {
		return term.Thousands(int64(a.last(doc)))
	}
	return term.Thousands(int64(max(c.Matches, a.last(doc)))) + " or more"
}

// last is the number of the page's last result, if the number of the first is known.
func (a asked) last(doc report.SearchDocument) int { return max(a.from, 1) + len(doc.Items) - 1 }

// under is the text after a result's channel: where it was charted and, in the order rise, how it has risen.
func under(v report.SearchItem) string {
	text := strings.Join(term.Texts(v.Regions, func(r ingest.Region) string { return string(r) }), ", ")
	if v.ViewsGained == nil {
		return text
	}
	return strings.TrimPrefix(text+" · gained "+term.Thousands(*v.ViewsGained)+" views", " · ")
}

// steps are links to the first page of the results and to the next one.
func (a asked) steps(doc report.SearchDocument) g.Node {
	if doc.Next == nil && a.after == "" {
		return nil
	}
	here, from, first, next := "More results", "", "", ""
	last := a.last(doc)
	if c := doc.Counts; c != nil && a.from > 0 && len(doc.Items) > 0 && (c.AtLeast || last <= c.Matches) {
		here = fmt.Sprintf("%s to %s of %s", term.Thousands(int64(a.from)), term.Thousands(int64(last)), a.matches(doc))
		from = strconv.Itoa(last + 1)
	}
	if a.after != "" {
		first = a.link()
	}
	if doc.Next != nil {
		next = a.link("after", *doc.Next, "from", from)
	}
	return steps(step(first, "first", "‹ First"), here, step(next, "next", "Next ›"))
}
