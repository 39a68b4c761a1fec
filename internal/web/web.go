// Package web answers over HTTP what machines ask of a running ingest: does it live (/livez), is it
// ready (/readyz), how fresh is each region (/freshness), what are the figures (/metrics); and what visitors ask of
// what was fetched (/v1/).
//
// It only reads, shows no secret and knows no password: whoever reaches the address may look. Host
// names are checked under /v1/ only; elsewhere a page that rebinds a name to this address could read no
// more than that either.
package web

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/trendvidstream/ingest"
)

// Site is what the pages show. All of its functions must be safe for concurrent use, and quick: what
// takes long is looked at elsewhere, and remembered. Text needs no escaping.
type Site struct {
	Now   func() time.Time
	Alive func() error // nil while the heart of the scheduler beats

	Checks     []Check // what /readyz looks at before freshness, in this order
	Schedule   Schedule
	Slots      Slots
	StaleAfter int // intervals

	Version  string                  // of the program
	Source   func() (*Source, error) // what the metrics are read from; an error where nothing is open; nil: there are none
	Degraded func() time.Duration    // how long the ledger could not answer since this process began; nil: not known

	API *API // what is served under /v1/; nil: nothing

	mu    sync.Mutex
	fresh Freshness // what the pages show
	at    time.Time // since then; zero: nothing yet

	reading sync.Mutex
	last    overview
	readAt  time.Time // of last; zero: never
}

// Check is one thing that must hold for the schedule to be kept.
type Check struct {
	Name string
	// Look says, in one line, how it stands; an error that it does not hold, and why.
	Look func(ctx context.Context) (detail string, err error)
}

// Schedule says what should be fresh.
type Schedule interface {
	// Series are all that the config wants, in its order.
	Series() []ingest.Series
	// Ahead is how long after t so many slots of the series come due; 0 where there are not so many.
	Ahead(of ingest.Series, t time.Time, slots int) time.Duration
	// Stale reports whether a series is stale at now, whose newest done slot was due at done, zero where
	// none was, when it counts as fresh for so many intervals.
	Stale(of ingest.Series, done, now time.Time, after int) bool
}

// Slots reads what became of the slots.
type Slots interface {
	// Last is the newest slot of the series that is done, and the newest that has any outcome; the
	// zero Slot where there is none.
	Last(ctx context.Context, of ingest.Series) (done, ended ingest.Slot, err error)
}

// Handler serves the site: GET and HEAD only.
func (s *Site) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /livez", s.livez)
	mux.HandleFunc("GET /readyz", s.readyz)
	mux.HandleFunc("GET /freshness", s.freshness)
	if s.Source != nil {
		mux.HandleFunc("GET /metrics", s.metrics)
	}
	if s.API != nil {
		mux.Handle("/v1/", s.API.handler(s.publicQuota))
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Cache-Control", "no-store")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
		mux.ServeHTTP(w, r)
	})
}

// wantsJSON reports whether the client asked for JSON, by ?format=json or by Accept.
func wantsJSON(r *http.Request) bool {
	return r.URL.Query().Get("format") == "json" || strings.Contains(r.Header.Get("Accept"), "application/json")
}

func writeJSON(w http.ResponseWriter, code int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(v) // the client may be gone
}

func writeText(w http.ResponseWriter, code int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(code)
	_, _ = w.Write([]byte(text))
}
