// Package web answers over HTTP what people and machines ask of a running ingest: a page that shows all of it (/),
// live by /events; does it live (/livez), is it ready (/readyz), how fresh is each region (/freshness), what are the
// figures (/metrics); and what visitors ask of what was fetched (/v1/).
//
// It only reads, shows no secret and knows no password: whoever reaches the address may look, under a name that is
// listed. Web pages elsewhere, which a browser takes to this address, may not.
package web

import (
	"context"
	"net/http"
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
	StaleAfter int           // intervals
	Resting    func() string // why nothing is fetched now, and when it is tried again; "": nothing keeps it; nil: not known

	Status *Status // what the page and the metrics show; nil: there are none

	API *API // what is served under /v1/; nil: nothing

	Hosts []string // names that all but /livez is answered under, beside localhost and addresses

	mu    sync.Mutex
	fresh Freshness // what the pages show
	at    time.Time // since then; zero: nothing yet
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
func (s *Site) Handler() http.Handler { return s.handler(true) }

// PublicHandler serves what visitors ask, /v1/, and /livez; the rest is found at an address of its own.
func (s *Site) PublicHandler() http.Handler { return s.handler(false) }

func (s *Site) handler(all bool) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /livez", s.livez)
	if all {
		mux.HandleFunc("GET /readyz", s.readyz)
		mux.HandleFunc("GET /freshness", s.freshness)
	}
	if all && s.Status != nil {
		mux.HandleFunc("GET /metrics", s.Status.metrics)
		mux.HandleFunc("GET /{$}", s.Status.page)
		mux.HandleFunc("GET /events", s.Status.events)
	}
	if s.API != nil {
		mux.Handle("/v1/", s.API.handler(s.publicQuota))
	}
	checked := s.checkHost(mux)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Cache-Control", "no-store")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
		checked.ServeHTTP(w, r)
	})
}
