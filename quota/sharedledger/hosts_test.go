package sharedledger_test

import (
	"flag"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/trendvidstream/ingest/quota/quotatest"
)

var (
	seeds = flag.Int("seeds", 60, "how many simulations TestHosts runs; TestLongHosts runs 400")
	seed  = flag.Uint64("seed", 0, "the one simulation that TestHosts runs and tells all about")
	heavy = flag.Bool("heavy", false, "of three hosts that want more than there is, and lose the ledger three times")
	off   = flag.String("without", "", "the part of the protocol that TestHosts goes without, such as settling")
)

// Hosts share a ledger that forgets, hangs and lies about the time, and die at any step themselves;
// and the upstream never counts more than the limit, nor more than the ledger. A failure prints its
// seed; go test ./quota/sharedledger -run 'TestHosts$' -seed N -v shows all that happened.
func TestHosts(t *testing.T) {
	if *seed != 0 {
		w := simulate(t, planned(*seed), true)
		t.Logf("%+v\n%s", w.plan, strings.Join(w.trace, "\n"))
		if w.judge.failed != "" {
			t.Error(w.judge.failed)
		}
		return
	}
	n := *seeds
	if quotatest.Raced { // several times as long; TestLongHosts runs all of them and more
		n /= 3
	}
	manyHosts(t, n)
}

func TestLongHosts(t *testing.T) { manyHosts(t, 400) }

func manyHosts(t *testing.T, n int) {
	t.Helper()
	sum := many(t, n, planned)
	t.Logf("%d simulations: %s", n, sum)
	if len(sum.failed) == 0 {
		return
	}
	for _, f := range sum.failed {
		t.Errorf("seed %d: %s", f.seed, f.why)
	}
	w := simulate(t, planned(sum.failed[0].seed), true)
	t.Logf("seed %d: %+v\n%s", w.seed, w.plan, strings.Join(w.lately(60), "\n"))
}

// Each part of the protocol is there because without it the promises are broken.
func TestEveryPartIsNeeded(t *testing.T) {
	for _, without := range []part{journals, numbers, generation, settling, raising, theSync} {
		t.Run(string(without), func(t *testing.T) {
			t.Parallel()
			const atMost = 1000
			first := map[part]uint64{settling: 183, theSync: 5}[without] // before it nothing breaks, or after a longer day
			for n := first; n < atMost; n++ {
				p := press(drawPlan(n + 1))
				p.without = without
				if w := simulate(t, p, false); w.judge.failed != "" {
					t.Logf("without %s: seed %d of at most %d: %s", without, n+1, atMost, w.judge.failed)
					return
				}
			}
			t.Errorf("without %s nothing is broken in %d simulations", without, atMost)
		})
	}
}

// I7: the same seed is the same simulation.
func TestTheSameSeedIsTheSameSimulationOfHosts(t *testing.T) {
	for n := range uint64(5) {
		one, two := &simulate(t, press(drawPlan(n+1)), false).judge, &simulate(t, press(drawPlan(n+1)), false).judge
		if one.asked != two.asked || one.stops != two.stops || len(one.arrivals) != len(two.arrivals) {
			t.Errorf("seed %d: %d asked and %d stopped, then %d and %d", n+1, one.asked, one.stops, two.asked, two.stops)
		}
		for i := range min(len(one.arrivals), len(two.arrivals)) {
			if a, b := one.arrivals[i], two.arrivals[i]; !a.at.Equal(b.at) {
				t.Errorf("seed %d: call %d arrived at %v, then at %v", n+1, i, a.at, b.at)
				break
			}
		}
	}
}

// simulate runs one plan in a bubble of fake time.
func simulate(t *testing.T, p plan, traced bool) (w *world) {
	t.Helper()
	synctest.Test(t, func(*testing.T) {
		w = newWorld(p, traced)
		w.run()
	})
	return w
}

func planned(seed uint64) plan {
	p := drawPlan(seed)
	if *heavy {
		p = press(p)
	}
	p.without = part(*off)
	return p
}

// press makes the most of a plan.
func press(p plan) plan {
	p.hosts, p.workers, p.demand, p.losses, p.aways, p.lazy = 3, []int{2, 1, 2}, 3, 3, 4, p.lazy/2
	p.failover, p.boot, p.broken = false, false, false
	return p
}

// summary is the result of many simulations.
type summary struct {
	failed              []failed
	asked, stops, calls int
	uncovered, excess   int   // simulations with something, and simulations with too much
	units, worst        int64 // so many units in all, and so many too many at most
	over                int   // simulations whose ledger counts more than arrived or was in doubt
	fullest             float64
}

type failed struct {
	seed uint64
	why  string
}

func (s summary) String() string {
	return fmt.Sprintf("%d calls asked for, %d stopped, %d arrived; the fullest windows had %.0f %% on average; in %d the ledger forgot what nobody there knew (%d units), "+
		"in %d that came to too much, at most %d; in %d unattributed charges are left over", s.asked, s.stops, s.calls, s.fullest, s.uncovered, s.units, s.excess, s.worst, s.over)
}

func (s *summary) add(w *world) {
	j := &w.judge
	if j.failed != "" {
		s.failed = append(s.failed, failed{w.seed, j.failed})
	}
	s.asked, s.stops, s.calls = s.asked+j.asked, s.stops+j.stops, s.calls+len(j.arrivals)
	s.units, s.worst = s.units+j.uncovered, max(s.worst, j.excess)
	s.uncovered += count(j.uncovered > 0)
	s.excess += count(j.excess > 0)
	s.over += count(j.over > 0)
	s.fullest += 100 * j.least
}

// many runs the plans of the seeds 1..n, two at a time.
func many(t *testing.T, n int, plan func(uint64) plan) (sum summary) {
	t.Helper()
	var mu sync.Mutex
	t.Run("seeds", func(t *testing.T) {
		for half := range 2 {
			t.Run("half", func(t *testing.T) {
				t.Parallel()
				for i := half; i < n; i += 2 {
					w := simulate(t, plan(uint64(i)+1), false)
					mu.Lock()
					sum.add(w)
					mu.Unlock()
				}
			})
		}
	})
	sum.fullest /= float64(n)
	slices.SortFunc(sum.failed, func(a, b failed) int { return int(a.seed) - int(b.seed) })
	return sum
}

// lately is the end of the trace, up to the verdict.
func (w *world) lately(n int) []string {
	end := slices.IndexFunc(w.trace, func(s string) bool { return strings.Contains(s, "JUDGE") }) + 1
	return w.trace[max(end-n, 0):max(end, 0)]
}
