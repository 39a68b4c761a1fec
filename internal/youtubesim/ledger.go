package youtubesim

import (
	"cmp"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"time"
)

// Ledger is what arrived since the start, by the stand-in's own count.
type Ledger struct {
	// Units is what was charged to every pool of the table, in that pool's amount.
	Units map[string]int64 `json:"units"`
	// Calls are counted per method and status. Status 0 is a call that was counted and then dropped
	// without an answer.
	Calls []CallCount `json:"calls"`
	// Refused is how many calls each pool refused. They were not charged.
	Refused map[string]int64 `json:"refused"`

	PerMinute int64            `json:"per_minute"` // calls refused by the limit per minute
	Regions   map[string]int64 `json:"regions"`    // charged calls per region
	Day       string           `json:"day"`        // the Pacific day now, "2006-01-02"
	Today     map[string]int64 `json:"today"`      // charged in that day, per pool
	Limits    map[string]int64 `json:"limits"`     // per Pacific day
	At        time.Time        `json:"at"`         // by the stand-in's clock
	Log       []Call           `json:"log,omitempty"`
}

// CallCount is how often a method was answered with a status.
type CallCount struct {
	Method string `json:"method"`
	Status int    `json:"status"`
	Count  int64  `json:"count"`
}

// Call is one call that arrived, in order of arrival.
type Call struct {
	At        time.Time        `json:"at"`
	Method    string           `json:"method"`
	Region    string           `json:"region,omitempty"`
	PageToken string           `json:"page_token,omitempty"`
	Status    int              `json:"status"` // 0: dropped without an answer
	Charges   map[string]int64 `json:"charges,omitempty"`
	Refused   string           `json:"refused,omitempty"` // the pool that refused it, or "per_minute"
	Fault     string           `json:"fault,omitempty"`   // the fault that hit it
}

// Ledger is the count so far, without the log.
func (s *Server) Ledger() Ledger {
	c := s.count
	c.mu.Lock()
	defer c.mu.Unlock()
	at := c.now()
	l := Ledger{
		Units: map[string]int64{}, Refused: map[string]int64{}, Today: map[string]int64{}, Limits: map[string]int64{},
		Calls: []CallCount{}, Regions: map[string]int64{}, PerMinute: c.overBurst, Day: c.day(at), At: at,
	}
	for _, p := range c.table.pools {
		l.Units[p.name], l.Refused[p.name] = c.total[p.name], c.refused[p.name]
		l.Today[p.name], l.Limits[p.name] = c.days[l.Day][p.name], p.limit
	}
	counts := map[CallCount]int64{}
	for _, call := range c.log {
		counts[CallCount{Method: call.Method, Status: call.Status}]++
		if call.Region != "" && len(call.Charges) > 0 {
			l.Regions[call.Region]++
		}
	}
	for k, n := range counts {
		l.Calls = append(l.Calls, CallCount{k.Method, k.Status, n})
	}
	slices.SortFunc(l.Calls, func(a, b CallCount) int {
		return cmp.Or(cmp.Compare(a.Method, b.Method), cmp.Compare(a.Status, b.Status))
	})
	return l
}

// Log is every call of the API since the start, in order of arrival.
func (s *Server) Log() []Call {
	s.count.mu.Lock()
	defer s.count.mu.Unlock()
	log := slices.Clone(s.count.log)
	for i := range log {
		log[i].Charges = maps.Clone(log[i].Charges)
	}
	return log
}

// MaxInWindow is the most that any trailing window of length d held of a pool. A call at t counts
// while now < t + d.
func (s *Server) MaxInWindow(pool string, d time.Duration) int64 {
	log := s.Log()
	slices.SortStableFunc(log, func(a, b Call) int { return a.At.Compare(b.At) })
	var sum, most int64
	first := 0
	for _, call := range log {
		for !call.At.Before(log[first].At.Add(d)) && log[first].At.Before(call.At) {
			sum -= log[first].Charges[pool]
			first++
		}
		sum += call.Charges[pool]
		most = max(most, sum)
	}
	return most
}

// MaxInDay is the most that any Pacific day held of a pool.
func (s *Server) MaxInDay(pool string) int64 {
	sums := map[string]int64{}
	var most int64
	for _, call := range s.Log() {
		d := s.count.day(call.At)
		sums[d] += call.Charges[pool]
		most = max(most, sums[d])
	}
	return most
}

// serveLedger writes the ledger; ?log=1 adds the calls one by one.
func (s *Server) serveLedger(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet {
		http.Error(w, "the ledger is only read: use GET", http.StatusMethodNotAllowed)
		return
	}
	l := s.Ledger()
	if r.URL.Query().Get("log") == "1" {
		l.Log = s.Log()
	}
	w.Header().Set("Content-Type", "application/json; charset=UTF-8")
	w.Header().Set("Cache-Control", "no-store")
	_ = json.NewEncoder(w).Encode(l) // the caller went away
}
