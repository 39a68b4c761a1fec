package service

// What the tests need that nobody else does.
var (
	DegradedFor    = state.degradedFor
	LedgerAnswered = (*state).ledgerAnswered
	Heartbeat      = heartbeat
	NewLogs        = newLogs
)

// State is what the service has learned.
type State = state
