package web

import "testing"

// SetMaxConnections sets how many connections Serve holds at once, until the test ends.
func SetMaxConnections(t *testing.T, n int) {
	before := maxConnections
	maxConnections = n
	t.Cleanup(func() { maxConnections = before })
}
