package dailymotionsim

import "github.com/trendvidstream/ingest/internal/standin"

// poolCalls is the only pool, and defaultLimit is its calls per UTC day.
const (
	poolCalls    = "calls"
	defaultLimit = 10_000
)

// Ledger is the stand-in's own count of arrivals since the start; its days are in UTC.
type Ledger = standin.Ledger

// CallCount is how often a method was answered with a status.
type CallCount = standin.CallCount

// Call is one call that arrived; its PageToken is the page's number.
type Call = standin.Call

// Ledger returns the count so far, without the log.
func (s *Server) Ledger() Ledger { return s.count.Ledger() }

// Log returns every call of the API since the start, in order of arrival.
func (s *Server) Log() []Call { return s.count.Log() }
