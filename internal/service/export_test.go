package service

// What only the tests need.
var (
	DegradedFor    = state.degradedFor
	LedgerAnswered = (*state).ledgerAnswered
	Heartbeat      = heartbeat
	NewLogs        = newLogs
)

// State is what the service has learned.
type State = state
