// Package quotatest holds any quota.Ledger to what a quota ledger must show: one suite of black-box
// cases for every backend, each named after the promise it checks. Most of them come from limiters
// in the field that fail them.
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
// To hold a limiter of another shape to it, write the four or five lines that make it a
// quota.Ledger: what it cannot do returns an error, and the cases about that are red.
//
// The suite moves the ledger's clock. A ledger with a clock of its own, such as a server's, is opened
// by its test so that it reads a value that Clock.Watch pushes.
//
// Model is the same contract once more, as simply as it can be written: a slice of spends. The
// random cases compare a ledger with it step by step. FixedWindow is what most limiters do instead.
package quotatest

import (
	"cmp"
	"slices"
	"testing"
)

// Cases are all cases of a quota.Ledger, in order.
func Cases() []Case {
	all := slices.Concat(admission, weights, retryAfter, looking, several, life, loss, clocks, days, corrections, refused, files)
	slices.SortStableFunc(all, func(a, b Case) int { return cmp.Compare(a.ID, b.ID) })
	return all
}

// Run holds the backend to every case, each a subtest.
func Run(t *testing.T, b Backend) {
	t.Helper()
	run(t, b, Cases())
}

// RemoteCases are those of a sharedledger.Remote, in order.
func RemoteCases() []Case {
	return slices.Concat(numbered, generations, batches, unattributed, syncs)
}

// RunRemote holds the backend to every case of a sharedledger.Remote, which its Store.Ledger is, each a
// subtest. It is run beside Run.
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
