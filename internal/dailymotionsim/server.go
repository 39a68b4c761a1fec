// Package dailymotionsim is a stand-in for Dailymotion's public API that keeps its own count. It answers GET /videos,
// as a chart (sort=trending&country=), as a list of ids and as a search, from a generated catalogue; it charges every
// call to its own pool by its own clock; and it reports the arrived calls at /sim/ledger. It imports nothing of the
// program that it judges.
//
// Sources: https://developers.dailymotion.com/api/platform-api/reference (fields and filters),
// /reference/understand-api-response (the list, page and limit up to 100), /guides/browse-large-catalogs
// (1,000 results), /api/platform-api/errors (the body of an error) and /api/platform-api/data-types
// (nulls, dates, arrays). Answers that others published show that a nested object's field is one key with a dot, and
// that an unknown field is a 400.
//
// Where the sources are silent, the choice is always the stricter one for the caller:
//   - The provider publishes no limit for reading: the pool "calls" has 10,000 per UTC day. A call over
//     it is refused with 429 and not charged; every other call is charged 1, even if it is invalid or
//     ends in a fault.
//   - Pages after the 1,000th result are empty. A page or limit above 100, a country that is not two
//     letters, an unknown category, field, filter or order is a 400 that names it.
//   - A live stream has a duration of null. Likes may be null (withheld), as views may.
package dailymotionsim

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/trendvidstream/ingest/internal/standin"
)

// Options configure the stand-in. The zero value serves the catalogue of seed 0, without faults.
type Options struct {
	// Seed determines the catalogue. It also selects the calls that a fault with a percentage hits.
	Seed uint64

	// Limits replaces the limit of a pool, in calls per UTC day. The only pool is "calls".
	Limits map[string]int64

	// Faults are tried in order; the first that is due replaces or spoils the call's answer.
	Faults []Fault

	// Latency is the real time that every answer waits. The wait ends early if the caller goes away.
	Latency time.Duration

	// Now is the upstream's own clock; nil: time.Now. It determines the day, the charts and the Date header.
	Now func() time.Time
}

// Server is the stand-in: an http.Handler, safe for concurrent use. It does not listen itself.
type Server struct {
	opt   Options
	cat   *catalogue
	count *standin.Counter
}

// New checks every option.
func New(o Options) (*Server, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Latency < 0 {
		return nil, fmt.Errorf("dailymotionsim: latency %s must not be negative", o.Latency)
	}
	calls := standin.Pool{Name: poolCalls, Limit: defaultLimit}
	for pool, limit := range o.Limits {
		if pool != poolCalls || limit < 0 {
			return nil, fmt.Errorf("dailymotionsim: limit %d for pool %q: the only pool is %q, and its limit is at least 0",
				limit, pool, poolCalls)
		}
		calls.Limit = limit
	}
	return &Server{opt: o, cat: newCatalogue(o.Seed), count: &standin.Counter{
		Now: func() time.Time { return o.Now().UTC() }, Zone: time.UTC, Pools: []standin.Pool{calls},
		Faults: o.Faults, Seed: o.Seed, Refuses: refuses,
	}}, nil
}

// ServeHTTP answers the API at /videos and the count at /sim/ledger.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Date", s.opt.Now().UTC().Format(http.TimeFormat)) // on all answers, since one host sends them
	switch {
	case r.Method != http.MethodGet:
		http.Error(w, "this stand-in answers only GET", http.StatusMethodNotAllowed)
	case r.URL.Path == "/videos":
		s.serveVideos(w, r)
	case r.URL.Path == "/sim/ledger":
		s.count.Serve(w, r)
	default:
		http.NotFound(w, r)
	}
}

// serveVideos charges the call and decides its answer before it waits and writes, so that its count never depends on
// whether the caller waits for the answer.
func (s *Server) serveVideos(w http.ResponseWriter, r *http.Request) {
	q, bad := parse(r.URL.Query())
	call := Call{Method: q.method, Region: strings.ToUpper(q.country), PageToken: strconv.Itoa(q.page)}
	adm := s.count.Admit(call, standin.Charge{Pool: poolCalls, Amount: 1})
	fault := Fault{}
	if adm.Fault != nil && adm.Refused == "" {
		fault = *adm.Fault
	}
	a := faultAnswer(fault)
	switch {
	case adm.Refused != "":
		a = rateLimited()
	case a != nil:
	case bad != nil:
		a = bad
	default:
		a = s.cat.answer(q, adm.At)
	}
	status := a.status
	if fault.Kind == "drop" {
		status = 0
	}
	s.count.Answered(adm.Call, status)
	if !standin.Wait(r.Context(), s.opt.Latency+fault.Value) {
		panic(http.ErrAbortHandler) // returning would be an empty 200
	}
	a.write(w, r, adm.At, fault.Kind)
}
