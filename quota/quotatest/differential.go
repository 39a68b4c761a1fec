package quotatest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/internal/protocol"
)

// Differential takes so many random steps on a backend, and compares each answer with a flat list of charges that is
// counted anew for every question. The seed is DIFFERENTIAL_SEED, or the time; it is printed.
func Differential(t *testing.T, b Backend, steps int) {
	t.Helper()
	seed, err := strconv.ParseUint(os.Getenv("DIFFERENTIAL_SEED"), 10, 64)
	if err != nil {
		seed = uint64(time.Now().UnixNano() % 1_000_000_000)
	}
	t.Logf("%s: %d steps, DIFFERENTIAL_SEED=%d", b.Name, steps, seed)
	differential(newRig(t, b), seed, steps)
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
func randomSteps(r *rig) {
	steps := r.backend.Steps
	if steps == 0 {
		steps = 10_000
	}
	differential(r, 6, steps)
}

func differential(r *rig, seed uint64, steps int) {
	r.Helper()
	const perWalk = 100
	counts := map[string]int{}
	for first := 0; first < steps && !r.Failed(); first += perWalk {
		random := rand.New(rand.NewPCG(seed, uint64(first))) // the same seed gives the same steps
		w := &differ{walk: newWalk(r, r, random.IntN), counts: counts}
		w.naive.drains = map[string]quota.Drain{}
		for step := range perWalk {
			r.about = fmt.Sprintf("seed %d, step %d: ", seed, first+step)
			w.step()
		}
	}
	r.Logf("%v", counts)
}

// differ is a walk that is compared with a naive list.
type differ struct {
	*walk

	naive  naive
	charge []naiveTake
	floor  time.Time // no clock goes back behind it
	counts map[string]int
}

// naiveTake is an admitted take, and where its entries stand.
type naiveTake struct {
	decision quota.Decision
	from, to int
	undone   bool
}

func (w *differ) step() {
	n := w.roll(100)
	switch {
	case n < 58:
		w.take(false)
	case n < 62:
		w.take(true)
	case n < 79:
		w.wait()
	case n < 80:
		w.idle()
	case n < 85:
		w.setBack()
	case n < 90:
		w.refund()
	case n < 94:
		w.post()
	case n < 96:
		w.drain()
	case n < 97:
		w.change()
	case n < 98:
		w.reset()
	case n < 99:
		if w.roll(2) == 0 {
			w.yearAhead()
		} else {
			w.yearBehind()
		}
	default:
		w.sums()
	}
}

// outcome counts a step's outcome, and checks its error: nil, or one of those given.
func (w *differ) outcome(what string, err error, want ...error) bool {
	w.t.Helper()
	w.counts[what]++
	for _, kind := range want {
		if errors.Is(err, kind) {
			w.counts[what+" "+kind.Error()]++
			return false
		}
	}
	if err != nil || len(want) > 0 {
		w.t.Fatalf("%s: %s: %v, want %v", w.rig.at(), what, err, want)
	}
	return true
}

// faults returns the errors that an ask has to meet.
func (w *differ) faults(a quota.Ask) (want []error) {
	for _, c := range a.Charges {
		for _, b := range c.Bounds {
			if c.Amount > b.Ceiling {
				want = append(want, quota.ErrNeverFits)
			}
		}
	}
	if _, ok := w.naive.decidesAt(a, w.rig.clock.Now()); !ok {
		want = append(want, quota.ErrUnavailable)
	}
	return want
}

// affordable returns charges that usually can fit some day.
func (w *differ) affordable(most int) []quota.Charge {
	charges := w.charges(most)
	for i, c := range charges {
		for _, b := range c.Bounds {
			if w.roll(16) > 0 {
				charges[i].Amount = min(charges[i].Amount, b.Ceiling)
			}
		}
	}
	return charges
}

func (w *differ) take(peek bool) {
	w.t.Helper()
	r := w.rig
	r.who.Purpose, r.who.Region = quota.Purposes()[w.roll(4)], []string{"US", "GB"}[w.roll(2)]
	a := r.ask(w.affordable(min(w.roll(12), 1))...)
	a.Peek = peek
	clock := r.clock.Now()
	d, err := r.ledger.Take(r.Context(), a)
	if !w.outcome("take", err, w.faults(a)...) {
		return
	}
	if err := errors.Join(sound(a, d), w.naive.check(a, clock, d)); err != nil {
		w.t.Fatalf("%s: take %+v, peek %t:\n%s:\n%v", r.at(), a.Charges, peek, show(d), err)
	}
	if w.last = d; !d.Allowed {
		w.counts["refused"]++
		return
	}
	if from := len(w.naive.entries); !peek {
		w.naive.entries = append(w.naive.entries, w.naive.charges(a, d.At)...)
		if to := len(w.naive.entries); to > from {
			w.charge = append(w.charge, naiveTake{d, from, to, false})
		}
	}
}

// setBack moves the caller's clock back, sometimes by more than may be believed.
func (w *differ) setBack() {
	r := w.rig
	to := r.clock.Now().Add(-time.Duration(w.roll(20_000_000)) * time.Microsecond)
	if w.roll(5) == 0 {
		to = to.Add(-time.Duration(w.roll(90)) * second)
	}
	if r.backend.Without[OwnClock] == "" || r.backend.Forward || to.Before(w.floor) {
		return
	}
	r.clock.Set(to)
}

func (w *differ) refund() {
	w.t.Helper()
	if len(w.charge) == 0 {
		return
	}
	r := w.rig
	t := &w.charge[len(w.charge)-1-w.roll(min(len(w.charge), 4))]
	var want []error
	if t.undone || r.clock.Now().Sub(t.decision.At) > protocol.RefundWithin {
		want = append(want, quota.ErrNotRefundable)
	}
	if w.outcome("refund", r.ledger.Refund(r.Context(), r.account, t.decision), want...) {
		t.undone = true
		for i := t.from; i < t.to; i++ {
			w.naive.entries[i].amount = 0
		}
	}
}

func (w *differ) post() {
	w.t.Helper()
	r := w.rig
	ago := []time.Duration{0, -time.Hour, time.Millisecond, 5 * second, 40 * second, 2 * time.Hour,
		23 * time.Hour, 30 * time.Hour, 63 * time.Hour, 65 * time.Hour}
	at := r.clock.Now().Add(-ago[w.roll(len(ago))])
	a := r.ask(w.affordable(1)...)
	if !w.outcome("post", r.ledger.Post(r.Context(), a, at), w.faults(a)...) {
		return
	}
	now, _ := w.naive.decidesAt(a, r.clock.Now())
	if at.After(now) {
		at = now
	}
	if now.Sub(at) < r.horizon {
		w.naive.entries = append(w.naive.entries, w.naive.charges(a, at)...)
	}
}

func (w *differ) drain() {
	w.t.Helper()
	r, now := w.rig, w.rig.clock.Now()
	until := []time.Time{now.Add(5 * time.Minute), {}, nextMidnight(now, r.zone), now.Add(-second),
		now.Add(1234567 * time.Microsecond)}[w.roll(5)]
	pool, d := w.pools[w.roll(len(w.pools))].Name, quota.Drain{Until: until, Used: int64(w.roll(100))}
	w.outcome("drain", r.ledger.Drain(r.Context(), r.account, pool, d))
	if until.IsZero() || until.After(w.naive.drains[pool].Until) {
		w.naive.drains[pool] = d
	}
}

// idle takes until the next number of a pool is a multiple of 64, at which ledgers tidy up, and then nothing for a day
// or two.
func (w *differ) idle() {
	w.t.Helper()
	r := w.rig
	pool := w.pools[w.roll(len(w.pools))].Name
	wide := per(second, quota.MaxLimit)
	for range 64 {
		a := r.ask(charge(pool, 1, wide))
		d, err := r.ledger.Take(r.Context(), a)
		if !w.outcome("burst", err, w.faults(a)...) || !d.Allowed {
			return
		}
		w.naive.entries = append(w.naive.entries, w.naive.charges(a, d.At)...)
		r.pass(time.Microsecond)
		if d.Pools[0].Entry%64 == 63 {
			break
		}
	}
	r.pass(20*time.Hour + time.Duration(w.roll(40*3600))*second)
	w.take(false)
}

// yearAhead takes under a clock that is a year ahead. Once that is corrected, the ledger cannot answer until a reset.
func (w *differ) yearAhead() {
	w.t.Helper()
	r, now := w.rig, w.rig.clock.Now()
	if !w.reset() {
		return
	}
	r.clock.Set(now.AddDate(1, 0, 0))
	w.take(false)
	r.clock.Set(now)
	w.take(false)
	w.reset()
	w.counts["healed"]++
	w.take(false)
}

// yearBehind takes under a clock that is a year behind, which is believed only where nothing is newer.
func (w *differ) yearBehind() {
	w.t.Helper()
	r, now := w.rig, w.rig.clock.Now()
	behind := now.AddDate(-1, 0, 0)
	if r.backend.Forward || behind.Before(w.floor) {
		return
	}
	r.clock.Set(behind)
	w.take(false)
	r.clock.Set(now)
	w.counts["a year behind"]++
	w.take(false)
}

// change changes a pool's windows, as a new costs.yaml does.
func (w *differ) change() {
	w.pools[w.roll(len(w.pools))].Windows = w.windows()
}

// reset reports whether the ledger may be reset.
func (w *differ) reset() bool {
	w.t.Helper()
	err := w.rig.ledger.Reset(w.rig.Context(), w.rig.account)
	if w.counts["reset"]++; errors.Is(err, quota.ErrShared) {
		return false
	}
	if err != nil {
		w.t.Fatalf("%s: reset: %v", w.rig.at(), err)
	}
	now := w.rig.clock.Now()
	for i, e := range w.naive.entries { // none of them stays in the future
		w.naive.entries[i].amount = 0
		if e.at.After(now) {
			w.naive.entries[i].at = now
		}
	}
	for i := range w.charge {
		w.charge[i].undone = true
	}
	clear(w.naive.drains)
	w.floor = now // a ledger may forget a clock's earlier setting
	return true
}

// sums compares the spends, and their spenders.
func (w *differ) sums() {
	w.t.Helper()
	r := w.rig
	since := r.clock.Now().Add(-time.Duration(w.roll(24)) * time.Hour)
	every := time.Duration(w.roll(3)) * 100 * time.Minute
	got, err := r.ledger.Spent(r.Context(), r.account, since, every)
	w.outcome("spent", err)
	want := w.naive.spent(since, every)
	for _, s := range got {
		amount := s.Amount
		if s.Amount = 0; want[s] != amount {
			w.t.Fatalf("%s: spent since %s: %d by %v, want %d", r.at(), since, amount, s, want[s])
		}
		delete(want, s)
	}
	if len(want) > 0 {
		w.t.Fatalf("%s: spent since %s lacks %v", r.at(), since, want)
	}
}
