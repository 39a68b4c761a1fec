// Package quotatest tests any quota.Ledger: one suite of black-box cases for every backend, each named after the
// promise it checks. Most cases come from real limiters that fail them.
//
// A backend's test says how to open it and runs the suite:
//
//	func TestConformance(t *testing.T) {
//		quotatest.Run(t, quotatest.Backend{
//			Name: "mine",
//			Open: func(t testing.TB, clock *quotatest.Clock) quotatest.Store {
//				return quotatest.Store{Ledger: &mine.Ledger{Now: clock.Now}}
//			},
//			Without: map[quotatest.Capability]string{
//				quotatest.Another: "it lives in one process",
//				...
//			},
//		})
//	}
//
// To test a limiter of another shape, write the few lines that make it a quota.Ledger: operations that it lacks return
// an error, and their cases fail.
//
// The suite moves the ledger's clock. If the ledger has its own clock, for example on a server, its
// test must make that clock read a value that Clock.Watch pushes.
//
// Model is the same contract written as simply as possible: a slice of spends. The random cases compare a ledger with
// it step by step. FixedWindow counts as most limiters do.
package quotatest

import (
	"cmp"
	"slices"
	"testing"
)

// Cases are all cases of a quota.Ledger, in order.
func Cases() []Case {
	all := slices.Concat(admission, weights, retryAfter, peeking, several, life, loss, clocks,
		days, corrections, refused, files, returning)
	slices.SortStableFunc(all, func(a, b Case) int { return cmp.Compare(a.ID, b.ID) })
	return all
}

// Run runs every case on the backend, as a subtest.
func Run(t *testing.T, b Backend) {
	t.Helper()
	run(t, b, Cases())
}

// RemoteCases are the cases of a sharedledger.Remote, in order.
func RemoteCases() []Case {
	return slices.Concat(numbered, generations, batches, unattributed, syncs)
}

// RunRemote runs every case of a sharedledger.Remote, as a subtest. The backend's Store.Ledger must be
// a Remote. Call Run as well.
func RunRemote(t *testing.T, b Backend) {
	t.Helper()
	run(t, b, RemoteCases())
}

func run(t *testing.T, b Backend, cases []Case) {
	t.Helper()
	store := b.Open(t, NewClock(noon))
	for _, c := range cases {
		if c.Needs != "" && !store.can(c.Needs) {
			if why := b.Without[c.Needs]; why != "" {
				t.Logf("%s: %s is not run without %s: %s", b.Name, c, c.Needs, why)
			} else {
				t.Errorf("%s: %s needs %s: provide it, or say in Backend.Without why there is none", b.Name, c, c.Needs)
			}
			continue
		}
		t.Run(c.String(), func(t *testing.T) { c.Check(t, b) })
	}
}
