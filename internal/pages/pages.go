// Package pages shows people what was fetched: charts, videos, search results and how all is, as HTML made of the
// documents of package report, which the API and the commands show too. Every page has one frame (layout.go), one
// stylesheet and one script (files/), and is made of the same few parts, each in the file that is named for it.
//
// A page needs no script, and loads nothing from elsewhere but pictures from the provider's own hosts.
package pages

import (
	"context"
	"net/http"
	"time"

	"github.com/trendvidstream/ingest/internal/report"
)

// Site holds everything that all pages share. Its functions must be safe for concurrent use.
type Site struct {
	Now            func() time.Time
	Version, Moved string                                           // of the program; that the clock was moved, "": it was not
	Overall        func(ctx context.Context) State                  // the worst of all that can go wrong
	Fresh          func(ctx context.Context) map[string]RegionState // how fresh each region's chart is; nil: not known
	Provider       Provider
	Pictures       bool                            // pictures are shown, from PictureHosts
	PictureHosts   []string                        // such as https://i.ytimg.com
	StandIn        string                          // has the pictures in place of these hosts, such as http://127.0.0.1:8400; "" is none
	Hidden         bool                            // derived metrics are: how ranks moved, and what views were gained
	Library        func() (*report.Library, error) // what charts, videos and searches are read from
	Theme          []byte                          // the operator's stylesheet, loaded after ours; nil: none
}

// Provider is where all that is shown comes from.
type Provider struct{ Name, Home, Terms string }

// Register adds the pages to mux, each behind limited.
func (s *Site) Register(mux *http.ServeMux, limited func(http.Handler) http.Handler) {
	for _, a := range []asset{stylesheet, script, icon} {
		mux.Handle("GET /"+a.name, a)
	}
	if len(s.Theme) > 0 {
		mux.Handle("GET /theme.css", s.theme())
	}
	for path, page := range map[string]http.HandlerFunc{"/charts": s.Chart, "/charts/{region}": s.Chart, "/videos/{id}": s.video, "/search": s.search} {
		mux.Handle("GET "+path, limited(page))
	}
	mux.Handle("/", limited(http.HandlerFunc(s.notFound)))
}

// fresh returns how fresh each region's chart is; nothing of those of which that is not known.
func (s *Site) fresh(ctx context.Context) map[string]RegionState {
	if s.Fresh == nil {
		return nil
	}
	return s.Fresh(ctx)
}

func (s *Site) theme() asset { return newAsset("theme.css", stylesheet.kind, s.Theme) }
