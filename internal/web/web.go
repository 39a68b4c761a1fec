// Package web serves people and machines over HTTP: a status page (/status) in the frame of package pages; whether the
// process is alive (/livez) and ready (/readyz); how fresh each region is (/freshness); the metrics (/metrics); and for
// visitors the fetched data (/v1/).
//
// It only reads, shows no secret and has no password: every client that reaches the address may look, if it uses a
// listed name. Web pages elsewhere, opened in a browser that reaches this address, must not.
package web

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/trendvidstream/ingest/internal/pages"
	"github.com/trendvidstream/ingest/internal/recent"
	"github.com/trendvidstream/ingest/internal/standing"
	"github.com/trendvidstream/ingest/internal/term"
	"github.com/trendvidstream/ingest/quota/httplimit"
)

// Site holds the sources of the pages. All its functions must be safe for concurrent use, and fast: slow work is done
// elsewhere and cached. Text needs no escaping.
type Site struct {
	Now   func() time.Time
	Alive func() error // nil while the scheduler's heartbeat is recent

	Facts func(context.Context) standing.Facts // reads the store
	// adds the process's knowledge, such as the ledger's last answer; nil: nothing
	Process func(*standing.Facts)

	Status *Status // the source of the page and the metrics; nil: there are none

	Pages *pages.Site // the pages for people; nil: nothing

	API *API // the handler under /v1/; nil: nothing

	AccessLog *slog.Logger // of every request; nil: none is logged

	Hosts    []string       // names for everything but /livez, besides localhost and addresses
	BasePath string         // where visitors see the site, such as /ingest; "": at the root of their host
	Proxies  []netip.Prefix // whose X-Forwarded-Prefix replaces BasePath

	facts recent.Answers[standing.Facts]
}

// Handler serves the site: GET and HEAD, and questions to the limiter.
func (s *Site) Handler() http.Handler { return s.handler(true) }

// PublicHandler serves only /v1/ and /livez; the rest is served at another address.
func (s *Site) PublicHandler() http.Handler { return s.handler(false) }

func (s *Site) handler(all bool) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /livez", s.livez)
	mux.HandleFunc("GET /robots.txt", s.robots)
	if all {
		mux.HandleFunc("GET /readyz", s.readyz)
		mux.HandleFunc("GET /freshness", s.freshness)
	}
	if all && s.Status != nil {
		mux.HandleFunc("GET /metrics", s.Status.metrics)
	}
	if all && s.Pages != nil {
		kept := newCache(pageFor)
		shown := func(page http.Handler) http.Handler { return s.API.limited(s.cached(kept, page)) }
		if s.Status != nil {
			mux.Handle("GET /status", s.API.limited(http.HandlerFunc(s.statusPage)))
			mux.Handle("GET /{$}", shown(http.HandlerFunc(s.homePage)))
		}
		s.Pages.Register(mux, shown)
	}
	if s.API != nil {
		if s.Pages != nil {
			s.API.provider = s.Pages.Provider
		}
		mux.Handle("/v1/", s.API.handler(s.publicQuota))
		s.API.askedBy(mux)
		if all && s.Pages != nil {
			mux.Handle("GET /v1/{$}", s.API.limited(s.Pages.Contract(openAPI)))
		}
	}
	checked := s.checkHost(mux)
	return s.Logged(s.mounted(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		if !indexable(r.URL) {
			h.Set("X-Robots-Tag", "noindex, nofollow")
		}
		h.Set("Cache-Control", "no-store")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
		if r.ContentLength != 0 { // a slow body would hold its connection, and one path reads any
			within := time.Duration(0)
			if r.Method == http.MethodPost && r.URL.Path == limitsPath {
				within = readWithin
			} else {
				h.Set("Connection", "close")
			}
			_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(within)) // a test's recorder has no deadlines
		}
		if len(r.RequestURI) > maxAddress {
			s.tooLong(w, r)
			return
		}
		// Bounded, or a server that hangs would keep the answer. Not ended by the client: one that closes its half of the
		// connection, as nc and some proxies do once they have asked, still waits for the answer.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), readWithin)
		defer cancel()
		checked.ServeHTTP(w, r.WithContext(ctx))
	})))
}

// cached answers with pages that are kept.
func (s *Site) cached(kept *cache, page http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if wantsJSON(r) || r.Method != http.MethodGet && r.Method != http.MethodHead {
			page.ServeHTTP(w, r)
			return
		}
		doc := kept.get(r.Context(), keyOf(r, r.URL.RawQuery),
			func(ctx context.Context) *document { return recorded(page, r.WithContext(ctx)) })
		if doc.err != nil {
			s.Pages.Fail(w, r, pages.Page{Code: http.StatusServiceUnavailable, Title: "This page cannot be made right now"},
				"Too many are being made. Try again soon.")
			return
		}
		doc.write(w, r)
	})
}

// tooLong refuses an address longer than any link of ours: people get a page.
func (s *Site) tooLong(w http.ResponseWriter, r *http.Request) {
	why := fmt.Sprintf("It has %s characters, and at most %s are read: shorten the part after the question mark.",
		term.Thousands(int64(len(r.RequestURI))), term.Thousands(maxAddress))
	if s.Pages == nil || !s.isOurs(r.Host) || strings.HasPrefix(r.URL.Path, "/v1/") {
		httplimit.Problem{Status: http.StatusRequestURITooLong, Detail: why}.Write(w)
		return
	}
	s.Pages.Fail(w, r, pages.Page{Code: http.StatusRequestURITooLong, Title: "This address is too long"}, why)
}
