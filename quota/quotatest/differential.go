package quotatest

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"
)

// Differential takes the given number of random steps on a backend, and compares its answers with the answers of the
// Model. The seed is DIFFERENTIAL_SEED, or the time; it is printed.
func Differential(t *testing.T, b Backend, steps int) {
	t.Helper()
	seed, err := strconv.ParseUint(os.Getenv("DIFFERENTIAL_SEED"), 10, 64)
	if err != nil {
		seed = uint64(time.Now().UnixNano() % 1_000_000_000)
	}
	t.Logf("%s: %d steps, DIFFERENTIAL_SEED=%d", b.Name, steps, seed)
	walkFrom(newRig(t, b), seed, steps)
}

// SoakDifferential is Differential with 300,000 steps where SOAK is set, and with 3,000 otherwise.
func SoakDifferential(t *testing.T, b Backend) {
	t.Helper()
	steps := 3_000
	if os.Getenv("SOAK") != "" {
		steps = 300_000
	}
	Differential(t, b, steps)
}

// randomSteps is A6: the same steps every time.
func randomSteps(r *rig) { walkFrom(r, 6, cmp.Or(r.backend.Steps, 10_000)) }

// steps has the possible steps, and how often in 200 each is taken.
var steps = []struct {
	name  string
	often int
	do    func(*walk)
}{
	{"take", 116, func(w *walk) { w.take(false) }}, {"look", 8, func(w *walk) { w.take(true) }},
	{"wait", 34, (*walk).wait}, {"set back", 10, (*walk).setBack}, {"undo", 10, (*walk).refund},
	{"post", 8, (*walk).post}, {"drain", 4, (*walk).drain},
	{"idle", 2, (*walk).idle}, {"change", 2, (*walk).change}, {"reset", 2, func(w *walk) { w.reset() }},
	{"a year ahead", 1, (*walk).yearAhead}, {"a year behind", 1, (*walk).yearBehind}, {"sums", 2, (*walk).sums},
}

// walkFrom takes n steps, on one account after the other.
func walkFrom(r *rig, seed uint64, n int) {
	r.Helper()
	const perWalk = 100
	counts := map[string]int{}
	for first := 0; first < n && !r.Failed(); first += perWalk {
		random := rand.New(rand.NewPCG(seed, uint64(first))) // the same seed gives the same steps
		w := newWalk(r, r, random.IntN)
		w.counts = counts
		for step := range perWalk {
			r.about = fmt.Sprintf("seed %d, step %d: ", seed, first+step)
			turn := w.roll(200)
			for _, s := range steps {
				if turn -= s.often; turn < 0 {
					counts[s.name]++
					s.do(w)
					break
				}
			}
		}
	}
	r.Logf("%v", counts)
}
