package pgledger

import (
	"context"
	"testing"
)

// OpenWithClock opens a ledger whose clock is the result of that SQL, in microseconds.
func OpenWithClock(url string, o Options, clock string) (*Ledger, error) {
	return open(context.Background(), url, o, clock)
}

// SQL is all of the schema's text.
func SQL() string { return schemaSQL + takeSQL }

// Version is the version of the schema.
var Version = version

// WithStep adds a step to the next version, for as long as its test runs.
func WithStep(t testing.TB, step string) {
	t.Helper()
	was := steps
	steps = append(steps, step)
	t.Cleanup(func() { steps = was })
}
