package pages

import (
	"bytes"
	"cmp"
	"net/http"
	"strconv"
	"strings"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"github.com/trendvidstream/ingest/internal/report"
)

// Show writes a page in its frame.
func (s *Site) Show(w http.ResponseWriter, r *http.Request, p Page) {
	var page bytes.Buffer
	_ = h.Doctype(h.HTML(h.Lang("en"), s.documentHead(p), h.Body(
		h.A(h.Class("sr"), h.Href("#main"), g.Text("Skip to content")),
		s.head(r, p),
		h.P(h.ID("away"), h.Role("status"), in(report.Bad, "banner"), g.Attr("hidden"),
			h.B(g.Text("The server has not answered since "), h.Time(), g.Text(" UTC.")),
			g.Text(" The figures below may be out of date; this page keeps trying.")),
		h.P(h.ID("still"), h.Role("status"), h.Class("soft"), g.Attr("hidden"),
			g.Text("This page pauses while text is selected.")),
		h.Main(h.ID("main"), g.If(p.Live, h.Data("live", "")), p.Main, p.takeAway()),
		s.foot(p),
	))).Render(&page) // writing to memory cannot fail
	body := below(BasePath(r.Context()), page.Bytes())
	header := w.Header()
	header.Set("Content-Type", "text/html; charset=utf-8")
	header.Set("Content-Security-Policy", s.policy())
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("Content-Length", strconv.Itoa(len(body)))
	if p.Code == 0 && !p.Live {
		header.Set("Cache-Control", "no-cache") // a copy may be used if its ETag is still right
		header.Set("Vary", "Accept, Accept-Encoding")
	}
	w.WriteHeader(cmp.Or(p.Code, http.StatusOK))
	_, _ = w.Write(body) // the client may be gone
}

// policy lets a page load only from this server, and pictures also from the provider's named hosts.
func (s *Site) policy() string {
	pictures := ""
	if s.Pictures {
		hosts := s.PictureHosts
		if s.StandIn != "" {
			hosts = []string{s.StandIn}
		}
		pictures = " " + strings.Join(hosts, " ")
	}
	return "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self'" + pictures +
		"; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
}

func (s *Site) documentHead(p Page) g.Node {
	return h.Head(
		h.Meta(h.Charset("utf-8")),
		h.Meta(h.Name("viewport"), h.Content("width=device-width, initial-scale=1")),
		h.Meta(h.Name("color-scheme"), h.Content("light dark")),
		h.TitleEl(g.Text(strings.TrimSpace(p.Shape+" "+p.Title)+" · "+s.name())),
		h.Link(h.Rel("stylesheet"), h.Href(stylesheet.path())),
		g.If(len(s.Theme) > 0, h.Link(h.Rel("stylesheet"), h.Href(s.theme().path()))),
		h.Link(h.Rel("icon"), h.Href(icon.path())),
		g.If(p.JSON != "", h.Link(h.Rel("alternate"), h.Type(typeJSON), h.Href(p.JSON))),
		g.Map(p.Take, func(e Export) g.Node {
			return g.If(e.Kind == typeAtom, h.Link(h.Rel("alternate"), h.Type(e.Kind), h.Title(e.Name), h.Href(e.Href)))
		}),
		s.preview(p),
		h.Script(h.Src(script.path()), h.Defer()),
	)
}

// head is at the top of every page: the search box, and the overall state.
func (s *Site) head(r *http.Request, p Page) g.Node {
	tab := func(path string, content ...g.Node) g.Node {
		return h.A(h.Href(path), g.If(p.Tab == path, h.Aria("current", "page")), g.Group(content))
	}
	state := s.Overall(r.Context())
	word := h.Span(h.Class("word"), g.Text(state.Word))
	if state.Mood == report.Good {
		word = spoken(": " + state.Word)
	}
	return h.Header(h.Class("head"),
		h.A(h.Class("brand"), h.Href("/"), h.Dir("auto"), g.Text(s.name())),
		h.Form(h.Class("search"), h.Role("search"), h.Action("/search"),
			h.Input(h.Type("search"), h.Name("q"), h.Value(p.Query), h.Aria("label", "Search titles, channels and tags"),
				h.Placeholder("Search titles, channels, tags"), h.AutoComplete("off"), h.MaxLength(strconv.Itoa(maxQuery))),
			kept(p.Keep),
			h.Button(g.Text("Search"))),
		h.Nav(h.Aria("label", "Site"),
			tab("/charts", g.Text("Charts")),
			tab("/status", in(state.Mood, "status"), dot(), h.Span(g.Text("Status ")), word)))
}

// name is the site's own name.
func (s *Site) name() string { return cmp.Or(s.Title, "ingest") }

func (s *Site) foot(p Page) g.Node {
	return h.Footer(h.Class("foot"),
		g.If(s.Provider.Name != "",
			h.P(g.Text("Charts, titles, counts and pictures: "), link(s.Provider.Home, s.Provider.Name), g.Text(". "),
				link(s.Provider.Terms, "Its terms"), g.Text(" apply."))),
		h.P(g.If(s.Moved != "", g.Group{h.Strong(g.Text(s.Moved)), g.Text(" ")}), g.Text("As of "),
			moment(s.Now(), "Mon 2 Jan, 15:04:05"), g.Text(", times are "), zone(),
			g.Text(" · "), link("", "Reload"),
			g.If(p.JSON != "", g.Group{g.Text(" · "), h.A(h.Href(p.JSON), h.Type(typeJSON), g.Text("This page as JSON"))}),
			g.Text(" · "), link("/v1/", "API"), g.Text(" · ingest "+s.Version)))
}

// takeAway links to the page's exports. The last export links to the page itself: with a script, a click on it
// copies that address.
func (p Page) takeAway() g.Node {
	if len(p.Take) == 0 {
		return nil
	}
	return chips("Export", h.Span(h.Class("soft"), g.Text("Export")), g.Map(p.Take, func(e Export) g.Node {
		return h.A(h.Href(e.Href), g.If(e.Kind != "", h.Type(e.Kind)), g.If(e.Kind == "", h.Data("copy", "")), g.Text(e.Name))
	}))
}

// preview is the text that other sites show beside a link to the page.
func (s *Site) preview(p Page) g.Node {
	if p.About == "" {
		return nil
	}
	property := func(name, content string) g.Node { return h.Meta(g.Attr("property", name), h.Content(content)) }
	return g.Group{
		h.Meta(h.Name("description"), h.Content(p.About)), h.Meta(h.Name("twitter:card"), h.Content("summary")),
		property("og:title", p.Title), property("og:description", p.About), property("og:type", "website"),
		property("og:site_name", s.name()),
		g.If(p.Face != "" && s.Pictures && s.StandIn == "", property("og:image", p.Face)),
	}
}
