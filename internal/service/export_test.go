package service

import "github.com/trendvidstream/ingest/internal/web"

// What only the tests need.
var (
	DegradedFor    = state.degradedFor
	LedgerAnswered = (*state).ledgerAnswered
	Heartbeat      = heartbeat
	NewLogs        = newLogs
)

// State is what the service has learned.
type State = state

// Site is what a service shows.
func Site(s *Service) *web.Site { return s.site }
