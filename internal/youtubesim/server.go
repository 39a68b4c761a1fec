// Package youtubesim is a stand-in for the YouTube Data API v3 that counts for itself. It answers
// the methods this program calls, in the shapes of the real API, from a generated or a recorded
// catalogue; it charges every call to pools of its own, by cost tables and a clock of its own; and
// it says at /sim/ledger what arrived. It imports nothing of the program that it judges.
//
// Sources, all under https://developers.google.com/youtube/v3: costs and the split of 2026-06-01
// from determine_quota_cost and revision_history; parameters, ranges and shapes from the discovery
// document of google.golang.org/api v0.309.0; errors from docs/errors and from recorded answers.
// The day turns at midnight America/Los_Angeles (getting-started#quota). A program without the
// host's time zone files must import time/tzdata.
//
// Choices, where the sources are silent, always the stricter for the caller:
//   - A refused call is not charged; every other call is, once, when it arrives: also one that ends
//     in a fault. One that is itself invalid (4xx before any work) is charged 1, a bad key too.
//   - A call goes through all its pools or none. The first pool in the table's order that is short
//     gives the refusal.
//   - A path that is no method of the API is answered 404 and not charged.
//   - Requests that need a signed-in user, and search filters that the catalogue has no data for,
//     are refused rather than ignored.
package youtubesim

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Options say what to serve and how. The zero value serves the generated catalogue of seed 0 under
// the classic table, without faults.
type Options struct {
	// Seed makes the generated catalogue, and decides which calls a fault given in percent hits.
	Seed uint64

	// ChartsDir serves recorded charts instead of generated ones: CSV files named by region,
	// XX.csv or XX.csv.gz. Day, "2006-01-02", picks the snapshot.
	ChartsDir string
	Day       string

	// CostTable is "classic" (the default: search.list costs 100 units and 1 search) or
	// "split-2026-06" (search.list and videos.batchGetStats have pools of their own).
	CostTable string

	// Limits replace the table's limit of a pool, in that pool's amount per Pacific day.
	Limits map[string]int64

	// PerMinute is how many calls of all methods any trailing 60 s may hold; 0 is no such limit.
	// A call over it is answered 429 and, unless ChargePerMinute, not charged.
	PerMinute       int
	ChargePerMinute bool

	// RequireKey refuses any other API key, and none; "" accepts every key and none.
	RequireKey string

	// Faults are tried in order; the first that is due replaces the call's answer. FreeFaults
	// leaves the calls that a 5xx fault hits uncharged.
	Faults     []Fault
	FreeFaults bool

	// Latency is waited before every answer, in real time, until the caller goes away.
	Latency time.Duration

	// Now is the upstream's own clock, time.Now when nil. It moves the Pacific day, the charts
	// and the Date header.
	Now func() time.Time
}

// Server is the stand-in: an http.Handler, safe for concurrent use. It listens to nothing itself.
type Server struct {
	opt     Options
	methods []method
	cat     catalogue
	count   *counter
}

// New reads the catalogue and checks every option.
func New(o Options) (*Server, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.PerMinute < 0 || o.Latency < 0 {
		return nil, fmt.Errorf("youtubesim: per-minute limit %d and latency %s must not be negative", o.PerMinute, o.Latency)
	}
	c, err := newCounter(o)
	if err != nil {
		return nil, fmt.Errorf("youtubesim: %w", err)
	}
	s := &Server{opt: o, methods: methods(), count: c}
	switch {
	case o.ChartsDir != "":
		s.cat, err = openCharts(o.ChartsDir, o.Day)
	case o.Day != "":
		err = fmt.Errorf("a day (%s) picks a snapshot of recorded charts: give their directory too", o.Day)
	default:
		s.cat = newGenerated(o.Seed)
	}
	if err != nil {
		return nil, fmt.Errorf("youtubesim: %w", err)
	}
	return s, nil
}

const apiPrefix = "/youtube/v3/"

// ServeHTTP answers the API under /youtube/v3/ and the count at /sim/ledger.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case strings.HasPrefix(r.URL.Path, apiPrefix):
		s.serveAPI(w, r)
	case r.URL.Path == "/sim/ledger":
		s.serveLedger(w, r)
	default:
		http.NotFound(w, r)
	}
}

// serveAPI charges the call, decides its answer, and only then waits and writes: the count of a
// call never depends on whether the caller stayed for the answer.
func (s *Server) serveAPI(w http.ResponseWriter, r *http.Request) {
	i := slices.IndexFunc(s.methods, func(m method) bool { return apiPrefix+m.path == r.URL.Path })
	if i < 0 || r.Method != http.MethodGet {
		writeAnswer(w, r, s.opt.Now(), s.notAMethod(r))
		return
	}
	m := s.methods[i]
	req, invalid := m.parse(r)
	if bad := s.checkKey(r); bad != nil {
		invalid = bad
	}
	adm := s.count.admit(m.name, req, invalid != nil)
	req.now, req.call = adm.at, adm.call
	a := adm.refusal
	switch {
	case a != nil:
	case adm.fault != nil && adm.fault.replaces():
		a = adm.fault.answer()
	case invalid != nil:
		a = invalid
	default:
		a = m.answer(s.cat, req)
	}
	a = masked(a, req)
	if adm.fault != nil && adm.refusal == nil {
		a.fault = adm.fault
	}
	s.count.settle(adm, a.loggedStatus())
	if !wait(r.Context(), s.opt.Latency+a.delay()) {
		panic(http.ErrAbortHandler) // returning would be an empty 200
	}
	writeAnswer(w, r, adm.at, a)
}

// checkKey refuses a key other than the required one. The key may come as a header or a parameter.
func (s *Server) checkKey(r *http.Request) *answer {
	key := r.Header.Get("X-Goog-Api-Key")
	if key == "" {
		key = r.URL.Query().Get("key")
	}
	if s.opt.RequireKey == "" || key == s.opt.RequireKey {
		return nil
	}
	return badKey()
}

// wait reports whether d passed before ctx was done.
func wait(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
