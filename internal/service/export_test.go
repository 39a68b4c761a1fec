package service

import "github.com/trendvidstream/ingest/internal/web"

// Parts that only the tests need.
var (
	DegradedFor    = state.degradedFor
	LedgerAnswered = (*state).ledgerAnswered
	Heartbeat      = heartbeat
	NewLogs        = newLogs
)

// State is the service's knowledge.
type State = state

// Site is the pages of a service.
func Site(s *Service) *web.Site { return s.site }
