package pgstore

import "testing"

// SetSteps appends steps to the migrations, each with a version of its own.
func SetSteps(t testing.TB, more ...string) {
	before := steps
	steps = append(steps[:len(steps):len(steps)], more...)
	t.Cleanup(func() { steps = before })
}
