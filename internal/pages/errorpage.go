package pages

import (
	"net/http"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"
)

// Fail shows why there is no such page, and where to go instead.
func (s *Site) Fail(w http.ResponseWriter, r *http.Request, code int, what, why string, more ...g.Node) {
	s.Show(w, r, code, Page{Title: what, Main: g.Group{
		h.H1(g.Text(what)),
		g.If(why != "", h.P(h.Class("soft"), g.Text(why))),
		g.Group(more),
		h.P(h.Class("chips part"), link("/charts", "Charts"), link("/search", "Search"), link("/status", "Status"), link("/v1/", "API")),
	}})
}

func (s *Site) notFound(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		s.Fail(w, r, http.StatusMethodNotAllowed, "Pages are only for reading", "Use GET.")
		return
	}
	s.Fail(w, r, http.StatusNotFound, "There is no such page", "Nothing is at this address. Perhaps it was mistyped.")
}
