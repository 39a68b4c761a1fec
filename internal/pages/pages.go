// Package pages shows people charts, videos, search results and the program's state as HTML. It renders the documents
// of package report, as the API and the commands do. Every page has one frame (layout.go), one stylesheet and one
// script (files/), and is made of the same few parts, each in the file named after it.
//
// Pages work without a script, and load nothing from elsewhere but pictures from the provider's own hosts.
package pages

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"github.com/trendvidstream/ingest/internal/report"
	"github.com/trendvidstream/ingest/internal/term"
)

// Site holds everything that all pages share. Its functions must be safe for concurrent use.
type Site struct {
	Now            func() time.Time
	Version, Moved string                                     // of the program; how the clock was moved, "": it was not
	Overall        func(ctx context.Context) State            // the worst problem
	Fresh          func(ctx context.Context) map[string]State // how fresh each region's chart is; nil: not known
	Provider       Provider
	Pictures       bool     // pictures are shown, from PictureHosts
	PictureHosts   []string // such as https://i.ytimg.com
	// has the pictures in place of these hosts, such as http://127.0.0.1:8400; "": none
	StandIn   string
	Hidden    bool                              // derived metrics are: rank changes, and gained views
	Documents func() (*report.Documents, error) // for charts, videos and searches
	Title     string                            // the site's own name; "": ingest
	Theme     []byte                            // the operator's stylesheet, loaded after ours; nil: none
}

// Provider is the source of all data shown.
type Provider struct{ Name, Home, Terms string }

// Register adds the pages to mux, each wrapped in limited.
func (s *Site) Register(mux *http.ServeMux, limited func(http.Handler) http.Handler) {
	for _, a := range []asset{stylesheet, script, icon} {
		mux.Handle("GET /"+a.name, a)
	}
	if len(s.Theme) > 0 {
		mux.Handle("GET /theme.css", s.theme())
	}
	for path, read := range map[string]reader{"/charts": s.chart, "/charts/{region}": s.chart,
		"/videos/{id}": s.video, "/search": s.search} {
		mux.Handle("GET "+path, limited(s.shows(read)))
	}
	mux.Handle("GET /badge/{file}", limited(http.HandlerFunc(s.badge)))
	mux.Handle("/", limited(http.HandlerFunc(s.notFound)))
}

// reader makes a page. A page that it returns with an error is shown beside the reason.
type reader func(r *http.Request, docs *report.Documents) (Page, error)

func (s *Site) shows(read reader) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var page Page
		docs, err := s.Documents()
		if err == nil {
			page, err = read(r, docs)
		}
		s.answer(w, r, page, err)
	}
}

func (s *Site) answer(w http.ResponseWriter, r *http.Request, p Page, err error) {
	if err != nil {
		s.refuse(w, r, p, err)
		return
	}
	s.Show(w, r, p)
}

// Chart shows the chart of the first region that has one. It shows nothing, and reports false, if no job fetches charts
// or nothing can be read.
func (s *Site) Chart(w http.ResponseWriter, r *http.Request) (shown bool) {
	docs, err := s.Documents()
	if err != nil {
		return false
	}
	page, err := s.chart(r, docs)
	if errors.Is(err, errNoCharts) {
		return false
	}
	s.answer(w, r, page, err)
	return true
}

// refuse shows why a page cannot be made. An address that does not exist is not found, even if it has other faults.
func (s *Site) refuse(w http.ResponseWriter, r *http.Request, p Page, err error) {
	for _, known := range []error{report.ErrNotFound, report.ErrBadRequest} {
		if errors.Is(err, known) {
			text := term.Clean(strings.TrimPrefix(err.Error(), known.Error()+": "))
			first, size := utf8.DecodeRuneInString(text)
			p.Code, p.Title = cmp.Or(p.Code, http.StatusNotFound), cmp.Or(p.Title, "There is nothing here")
			s.Fail(w, r, p, term.Fit(strings.ToUpper(string(first))+text[size:]+".", 300))
			return
		}
	}
	p.Code, p.Title = http.StatusServiceUnavailable, "This cannot be read right now"
	s.Fail(w, r, p, "The status page says why. Try again soon.")
}

// Fail shows why there is no such page, and links to p.Main and the other pages.
func (s *Site) Fail(w http.ResponseWriter, r *http.Request, p Page, why string) {
	p.Main = g.Group{h.H1(g.Text(p.Title)), h.P(h.Class("soft"), g.Text(why)), p.Main,
		h.P(h.Class("chips part"), link("/charts", "Charts"), link("/search", "Search"),
			link("/status", "Status"), link("/v1/", "API"))}
	s.Show(w, r, p)
}

func (s *Site) notFound(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		s.Fail(w, r, Page{Code: http.StatusMethodNotAllowed, Title: "Pages are only for reading"}, "Use GET.")
		return
	}
	s.Fail(w, r, Page{Code: http.StatusNotFound, Title: "There is no such page"},
		"Nothing is at this address. Perhaps it was mistyped.")
}

func (s *Site) theme() asset { return newAsset("theme.css", stylesheet.kind, s.Theme) }

// badge is a picture of how fresh a region's chart is, and its age, for other pages: /badge/US.svg.
func (s *Site) badge(w http.ResponseWriter, r *http.Request) {
	region, isSVG := strings.CutSuffix(r.PathValue("file"), ".svg")
	region = strings.ToUpper(region)
	var state State
	if s.Fresh != nil {
		state = s.Fresh(r.Context())[region]
	}
	if !isSVG || state.Word == "" {
		s.Fail(w, r, Page{Code: http.StatusNotFound, Title: "There is no such badge"},
			"A badge is of a region that is charted, such as /badge/US.svg.")
		return
	}
	left, right := region+" chart", strings.TrimSuffix(state.Word+", "+state.Age, ", ")
	header := w.Header()
	header.Set("Content-Type", icon.kind)
	header.Set("Cache-Control", "public, max-age=60")
	_ = badgeOf(left, right, badgeColours[state.Mood]).Render(w) // the client may be gone
}
