package dailymotionsim

import (
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/trendvidstream/ingest/internal/standin"
)

// poolCalls is the only pool, and defaultLimit is its calls per UTC day.
const (
	poolCalls    = "calls"
	defaultLimit = 10_000
)

// Ledger is the stand-in's own count of arrivals since the start.
type Ledger struct {
	// Units is the charges, in calls.
	Units map[string]int64 `json:"units"`
	// Calls are counted per method and status. Status 0 is a call that was counted and then dropped
	// without an answer.
	Calls []CallCount `json:"calls"`
	// Refused counts the calls refused for quota. They were not charged.
	Refused map[string]int64 `json:"refused"`

	Regions map[string]int64 `json:"regions"` // charged calls per country, "US"
	Day     string           `json:"day"`     // the UTC day now, "2006-01-02"
	Today   map[string]int64 `json:"today"`   // charged in that day
	Limits  map[string]int64 `json:"limits"`  // per UTC day
	At      time.Time        `json:"at"`      // by the stand-in's clock
	Log     []Call           `json:"log,omitempty"`
}

// CallCount is how often a method was answered with a status.
type CallCount = standin.CallCount

// Call is one call that arrived, in order of arrival.
type Call struct {
	At      time.Time `json:"at"`
	Method  string    `json:"method"`
	Region  string    `json:"region,omitempty"` // "US"
	Page    int       `json:"page"`
	Status  int       `json:"status"` // 0: dropped without an answer
	Charged int64     `json:"charged"`
	Refused bool      `json:"refused,omitempty"` // for quota
	Fault   string    `json:"fault,omitempty"`   // the fault that hit it
}

// Ledger returns the count so far, without the log.
func (s *Server) Ledger() Ledger {
	c := s.count
	c.mu.Lock()
	defer c.mu.Unlock()
	at := c.opt.Now().UTC()
	l := Ledger{
		Units: map[string]int64{poolCalls: 0}, Refused: map[string]int64{poolCalls: 0},
		Calls:   standin.CountCalls(c.log, func(c Call) (string, int) { return c.Method, c.Status }),
		Regions: map[string]int64{}, Day: at.Format(time.DateOnly), Limits: map[string]int64{poolCalls: c.limit}, At: at,
	}
	l.Today = map[string]int64{poolCalls: c.days[l.Day]}
	for _, call := range c.log {
		l.Units[poolCalls] += call.Charged
		if call.Refused {
			l.Refused[poolCalls]++
		}
		if call.Region != "" {
			l.Regions[call.Region] += call.Charged
		}
	}
	return l
}

// Log returns every call of the API since the start, in order of arrival.
func (s *Server) Log() []Call {
	s.count.mu.Lock()
	defer s.count.mu.Unlock()
	return slices.Clone(s.count.log)
}

// serveLedger writes the ledger; ?log=1 adds the calls one by one.
func (s *Server) serveLedger(w http.ResponseWriter, r *http.Request) {
	l := s.Ledger()
	if r.URL.Query().Get("log") == "1" {
		l.Log = s.Log()
	}
	standin.WriteLedger(w, l)
}

// counter is the provider's own count. Its lock also puts the calls in one order.
type counter struct {
	opt   Options
	limit int64 // per UTC day
	mu    sync.Mutex
	days  map[string]int64 // UTC day -> charged
	log   []Call
}

// admission is the counter's decision about one call.
type admission struct {
	at      time.Time
	index   int // in the log
	refused bool
	fault   Fault
}

// admit counts a call that arrives now, and either refuses it for quota or charges it.
func (c *counter) admit(q query) admission {
	c.mu.Lock()
	defer c.mu.Unlock()
	adm := admission{at: c.opt.Now().UTC(), index: len(c.log)}
	if f := standin.DueFault(c.opt.Faults, c.opt.Seed, int64(len(c.log))+1); f != nil {
		adm.fault = *f
	}
	day := adm.at.Format(time.DateOnly)
	// A refusal faked by a fault is counted like a real one.
	adm.refused = c.days[day] >= c.limit || adm.fault.Kind == "429"
	line := Call{At: adm.at, Method: q.method, Region: strings.ToUpper(q.country), Page: q.page,
		Refused: adm.refused, Fault: adm.fault.String()}
	if !adm.refused {
		line.Charged = 1
		c.days[day]++
	}
	c.log = append(c.log, line)
	return adm
}

// answered records the status of the call's answer in the log.
func (c *counter) answered(adm admission, status int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.log[adm.index].Status = status
}
