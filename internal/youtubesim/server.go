// Package youtubesim is a stand-in for the YouTube Data API v3 that keeps its own count. It answers the methods that
// this program calls, in the shapes of the real API, from a generated or a recorded catalogue; it charges every call
// to its own pools, by its own cost tables and clock; and it reports the arrived calls at /sim/ledger. It imports
// nothing of the program that it judges.
//
// server.go answers a call with four independent pieces: the methods read the request (method, params, fields) and
// render the catalogue's data (videos, channels, search); the catalogue is generated or recorded; the counter admits or
// refuses; write.go writes the answer, and spoils it if a fault is due.
//
// Sources, all under https://developers.google.com/youtube/v3: costs and the split of 2026-06-01
// from determine_quota_cost and revision_history; parameters, ranges and shapes from the discovery
// document of google.golang.org/api v0.309.0; errors from docs/errors and from recorded answers.
// The day turns at midnight America/Los_Angeles (getting-started#quota). A program without the
// host's time zone files must import time/tzdata.
//
// Where the sources are silent, the choice is always the stricter one for the caller:
//   - A refused call is not charged. Every other call is charged once, when it arrives, even if it ends
//     in a fault. An invalid call (4xx before any work, also for a bad key) is charged 1.
//   - A call is charged to all its pools or to none. The first pool without room, in the table's order,
//     gives the refusal.
//   - A path that is not a method of the API is answered 404 and not charged.
//   - Requests that need a signed-in user, and search filters that the catalogue has no data for,
//     are refused rather than ignored.
package youtubesim

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/trendvidstream/ingest/internal/standin"
)

// Options configure the stand-in. The zero value serves the generated catalogue of seed 0 under today's table, without
// faults.
type Options struct {
	// Seed determines the generated catalogue, and which calls a fault given in percent hits.
	Seed uint64

	// ChartsDir serves recorded charts instead of generated ones: CSV files named by region,
	// XX.csv or XX.csv.gz. Day, "2006-01-02", picks the snapshot.
	ChartsDir string
	Day       string

	// CostTable is "split-2026-06" (the default: search.list and videos.batchGetStats have pools of their own) or
	// "classic" (search.list costs 100 units and 1 search).
	CostTable string

	// Limits replaces the table's limit of a pool, in that pool's amount per Pacific day.
	Limits map[string]int64

	// PerMinute is how many calls of all methods any trailing 60 s may hold; 0: no such limit. A call over it is answered
	// 429 and, unless ChargePerMinute, not charged.
	PerMinute       int
	ChargePerMinute bool

	// RequireKey refuses any other API key, and a missing one; "" accepts any key or none.
	RequireKey string

	// Faults are tried in order; the first that is due replaces the call's answer. FreeFaults
	// leaves the calls that a 5xx fault hits uncharged.
	Faults     []Fault
	FreeFaults bool

	// PageVideos is the most videos that a page of a chart holds; 0: as many as requested. The other places count for its
	// offset, as withheld ones do. A small number makes simulated weeks cheap.
	PageVideos int

	// Crowd, if not 0, serves only the channel @crowd with that many videos, besides the generated charts. Lie is one of
	// Lies, about that channel.
	Crowd int
	Lie   string

	// Creators, if not empty, serves only the channels @creator0, @creator1 and so on, besides the generated charts: each
	// uploads as many videos a day.
	Creators []int

	// Latency is the real time waited before every answer, until the caller goes away.
	Latency time.Duration

	// Now is the upstream's own clock; nil: time.Now. It determines the Pacific day, the charts and the Date header.
	Now func() time.Time
}

// Server is the stand-in: an http.Handler, safe for concurrent use. It does not listen itself.
type Server struct {
	opt     Options
	methods []method
	cat     catalogue
	count   *standin.Counter
	prices  map[string][]standin.Charge // of one call of a method
}

// New reads the catalogue and checks every option.
func New(o Options) (*Server, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.PerMinute < 0 || o.Latency < 0 {
		return nil, fmt.Errorf("youtubesim: per-minute limit %d and latency %s must not be negative", o.PerMinute, o.Latency)
	}
	table, err := pickTable(o.CostTable, o.Limits)
	if err != nil {
		return nil, fmt.Errorf("youtubesim: %w", err)
	}
	zone, err := time.LoadLocation("America/Los_Angeles")
	if err != nil {
		return nil, fmt.Errorf("youtubesim: the provider's day needs its zone (import time/tzdata?): %w", err)
	}
	s := &Server{opt: o, methods: methods(), prices: table.methods, count: &standin.Counter{
		Now: o.Now, Zone: zone, Pools: table.pools, PerMinute: o.PerMinute, ChargePerMinute: o.ChargePerMinute,
		Faults: o.Faults, Seed: o.Seed, Refuses: refuses,
		Free: func(f *Fault) bool { return o.FreeFaults && failsServer(f) },
	}}
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
	if err := checkLie(o); err != nil {
		return nil, fmt.Errorf("youtubesim: %w", err)
	}
	if o.PageVideos > 0 {
		s.cat = sparse{s.cat, o.PageVideos}
	}
	if len(o.Creators) > 0 {
		s.cat = newCreators(s.cat, o.Seed, o.Creators, o.Now())
	}
	if o.Crowd > 0 {
		s.cat = newCrowd(s.cat, o.Seed, o.Crowd, o.Lie)
	}
	return s, nil
}

// checkLie refuses an unknown lie, or one without the channel that it is about.
func checkLie(o Options) error {
	switch {
	case o.Lie != "" && !slices.Contains(Lies(), o.Lie):
		return fmt.Errorf("no lie is called %q: use one of %s", o.Lie, strings.Join(Lies(), " "))
	case o.Lie != "" && o.Crowd == 0:
		return fmt.Errorf("the lie %s is about the videos of @crowd: say how many it has", o.Lie)
	}
	return nil
}

// Lie begins one of the Lies about the channel @crowd; "" ends the last one. A burst must be there from the start.
func (s *Server) Lie(lie string) {
	if c, ok := s.cat.(*crowd); ok {
		c.begin(lie)
	}
}

// Crowd returns the ids that the channel @crowd lists now, newest first.
func (s *Server) Crowd() (ids []string) {
	if c, ok := s.cat.(*crowd); ok {
		for _, v := range c.videos(time.Time{}) {
			ids = append(ids, v.id)
		}
	}
	return ids
}

// Ledger returns the count so far, without the log.
func (s *Server) Ledger() Ledger { return s.count.Ledger() }

// Spend charges a pool for another program with the same quota, within the day's limit, and returns how much it
// charged. No call is logged.
func (s *Server) Spend(pool string, amount int64) int64 { return s.count.Spend(pool, amount) }

// Log returns every call of the API since the start, in order of arrival.
func (s *Server) Log() []Call { return s.count.Log() }

const apiPrefix = "/youtube/v3/"

// ServeHTTP answers the API under /youtube/v3/, pictures under /vi/ and the count at /sim/ledger.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Date", s.opt.Now().UTC().Format(http.TimeFormat)) // on all answers, since one host sends them
	switch {
	case strings.HasPrefix(r.URL.Path, apiPrefix):
		s.serveAPI(w, r)
	case r.URL.Path == "/sim/ledger":
		s.serveLedger(w, r)
	case strings.HasPrefix(r.URL.Path, picturePrefix):
		s.servePicture(w, r)
	default:
		http.NotFound(w, r)
	}
}

// serveAPI charges the call and decides its answer before it waits and writes, so that its count never depends on
// whether the caller waits for the answer.
func (s *Server) serveAPI(w http.ResponseWriter, r *http.Request) {
	r = overridden(r)
	i := slices.IndexFunc(s.methods, func(m method) bool { return apiPrefix+m.path == r.URL.Path })
	if i < 0 || r.Method != http.MethodGet {
		reply{answer: s.notAMethod(r), at: s.opt.Now()}.write(w, r)
		return
	}
	m := s.methods[i]
	req, invalid := m.parse(r)
	if bad := s.checkKey(r); bad != nil {
		invalid = bad
	}
	cost := s.prices[m.name]
	if invalid != nil { // 1 of its method's first pool
		cost = []standin.Charge{{Pool: cost[0].Pool, Amount: 1}}
	}
	adm := s.count.Admit(Call{Method: m.name, Region: req.region(), PageToken: req.get("pageToken")}, cost...)
	req.now, req.call = adm.At, adm.Call
	out := reply{answer: s.decide(m, req, adm, invalid), at: adm.At, pretty: req.pretty}
	delay := s.opt.Latency
	if adm.Fault != nil && adm.Refused == "" {
		out.fault = adm.Fault.Kind
		if out.fault == "slow" {
			delay += adm.Fault.Value
		}
	}
	status := out.status
	if out.hungUp() {
		status = 0
	}
	s.count.Answered(adm.Call, status)
	if !standin.Wait(r.Context(), delay) {
		panic(http.ErrAbortHandler) // returning would be an empty 200
	}
	out.write(w, r)
}

// overridden returns the GET that a POST with its query in its body stands for, as the API understands one; else r.
func overridden(r *http.Request) *http.Request {
	if r.Method != http.MethodPost || r.Header.Get("X-HTTP-Method-Override") != http.MethodGet {
		return r
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, 64<<10))
	if err != nil {
		return r
	}
	get := r.Clone(r.Context())
	get.Method, get.URL.RawQuery = http.MethodGet, string(body)
	return get
}

// decide returns the call's answer: a refusal for quota goes before a fault's own answer, and that before an error in
// the request.
func (s *Server) decide(m method, req *request, adm standin.Admission, invalid *answer) *answer {
	if adm.Refused != "" {
		return refusal(adm.Refused, adm.Limit).asking(adm.Fault)
	}
	if adm.Fault != nil {
		if a := faultAnswer(adm.Fault); a != nil {
			return a
		}
	}
	if invalid != nil {
		return invalid
	}
	if c, ok := s.cat.(*crowd); ok {
		req.lie = c.lieFor(m.name)
	}
	a := m.answer(s.cat, req)
	withhold(adm.Fault, a)
	if req.fields != nil && a.status == http.StatusOK { // errors ignore the caller's field mask
		a.body = req.fields.apply(a.body).(object)
	}
	return a
}

// notAMethod answers a path that the API, or this stand-in, does not have.
func (s *Server) notAMethod(r *http.Request) *answer {
	var have []string
	for _, m := range s.methods {
		have = append(have, apiPrefix+m.path)
	}
	return apiError(http.StatusNotFound, "global", "notFound", "",
		fmt.Sprintf("%s %s is no method here. This stand-in has GET %s.", r.Method, r.URL.Path, strings.Join(have, ", "))).
		with("NOT_FOUND", nil)
}

func (s *Server) serveLedger(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet {
		http.Error(w, "the ledger can only be read: use GET", http.StatusMethodNotAllowed)
		return
	}
	s.count.Serve(w, r)
}

// checkKey refuses a key other than the required one. The key may be in a header or a parameter.
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
