package quotatest

import (
	"errors"
	"flag"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/trendvidstream/ingest/quota"
)

// dice are where a random walk takes its turns: n ways, 0 the simplest.
type dice func(n int) int

// stateMachine is A6 by rapid, which finds the fewest steps that show a difference.
func stateMachine(r *rig) {
	_ = flag.Set("rapid.nofailfile", "true") // the seed that it prints is enough
	rapid.Check(r, func(t *rapid.T) {
		w := newWalk(r, t, func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "turn") })
		t.Repeat(map[string]func(*rapid.T){
			"":      func(*rapid.T) { w.compareSpent() },
			"take":  func(*rapid.T) { w.take(1) },
			"look":  func(*rapid.T) { w.take(0) },
			"wait":  func(*rapid.T) { w.wait() },
			"undo":  func(*rapid.T) { w.refund() },
			"post":  func(*rapid.T) { w.post() },
			"drain": func(*rapid.T) { w.drain() },
		})
	})
}

// walk is one account of a ledger, and beside it the model under the same clock.
type walk struct {
	rig    *rig
	t      failer
	roll   dice
	model  *Model
	pools  []quota.Pool
	shares map[quota.Purpose]quota.Share
	taken  []pair
	last   quota.Decision // the last refusal
}

// failer is the part of a test that a walk needs; a rapid.T is one.
type failer interface {
	Helper()
	Fatalf(format string, args ...any)
}

// pair is a take by ledger and model, whose entries have numbers of their own.
type pair struct{ ledger, model quota.Decision }

func newWalk(r *rig, t failer, roll dice) *walk {
	starts := []time.Time{noon,
		time.Date(2026, 10, 31, 20, 0, 0, 0, pacific), // before the day of 25 hours
		time.Date(2027, 3, 13, 20, 0, 0, 0, pacific),  // before the day of 23
		time.Date(2026, 11, 1, 23, 59, 30, 0, pacific),
	}
	r.fresh(starts[roll(len(starts))])
	r.zone = []*time.Location{pacific, time.UTC}[roll(2)]
	r.grace = []time.Duration{0, 30 * second}[roll(2)]
	r.horizon = 64 * time.Hour // the longest pool of all: one horizon for the whole walk
	w := &walk{rig: r, t: t, roll: roll, model: &Model{Now: r.clock.Now},
		shares: map[quota.Purpose]quota.Share{quota.Scheduled: 950_000, quota.Refresh: 950_000,
			quota.Backfill: 700_000, quota.Manual: 995_000}}
	for _, name := range []string{"units", "search", "burst"}[:1+roll(3)] {
		w.pools = append(w.pools, quota.Pool{Name: name, Windows: w.windows()})
	}
	return w
}

// windows returns one to three different ones.
func (w *walk) windows() []quota.Window {
	lengths := []time.Duration{24 * time.Hour, 0, 10 * second, time.Minute, time.Hour, second,
		48 * time.Hour, 1500 * time.Millisecond}
	var out []quota.Window
	for range 1 + w.roll(3) {
		length := lengths[w.roll(len(lengths))]
		if slices.ContainsFunc(out, func(o quota.Window) bool { return o.Length == length }) {
			continue
		}
		limit := []int64{10, 3, 25, 100, 2, 1_000_000}[w.roll(6)]
		name := length.String()
		if length == 0 {
			name = "day"
		}
		out = append(out, quota.Window{Name: name, Length: length, Limit: limit})
	}
	return out
}

// charges ask for some of the pools.
func (w *walk) charges(most int) []quota.Charge {
	var out []quota.Charge
	first := w.roll(len(w.pools))
	for i := range 1 + w.roll(len(w.pools)) {
		p := w.pools[(first+i)%len(w.pools)]
		c := quota.Charge{Pool: p.Name}
		if most > 0 {
			c.Amount = []int64{1, 1, 1, 2, 3, 5, 9, 100, 0}[w.roll(9)]
		}
		for _, window := range p.Windows {
			c.Bounds = append(c.Bounds, quota.Bound{Window: window, Ceiling: w.shares[w.rig.who.Purpose].Of(window.Limit)})
		}
		out = append(out, c)
	}
	return out
}

func (w *walk) take(most int) {
	w.t.Helper()
	r := w.rig
	r.who.Purpose = quota.Purposes()[w.roll(4)]
	a := r.ask(w.charges(most)...)
	got, err := r.ledger.Take(r.Context(), a)
	want, wantErr := w.model.Take(r.Context(), a)
	if !sameError(err, wantErr) {
		w.t.Fatalf("%s: take %+v: %v, want %v", r.at(), a.Charges, err, wantErr)
	}
	if err != nil {
		return
	}
	if err := sound(a, got); err != nil {
		w.t.Fatalf("%s: take %+v: %+v: %v", r.at(), a.Charges, got, err)
	}
	if g, m := withoutEntries(got), withoutEntries(want); !reflect.DeepEqual(g, m) {
		w.t.Fatalf("%s: take %s\ngot   %s\nwant  %s", r.at(), show(a.Charges), show(g), show(m))
	}
	if got.Allowed {
		w.taken = append(w.taken, pair{got, want})
	} else {
		w.last = got
	}
}

// wait moves the clock: by a little, by a lot, or to just before or at the moment that matters.
func (w *walk) wait() {
	r, now := w.rig, w.rig.clock.Now()
	due := w.last.RetryAt
	midnight := nextMidnight(now, r.zone)
	steps := []time.Duration{time.Microsecond, time.Millisecond, 700 * time.Millisecond, 3 * second,
		20 * second, 5 * time.Minute, 50 * time.Minute, 7 * time.Hour, 30 * time.Hour}
	switch n := w.roll(len(steps) + 5); {
	case n < len(steps):
		r.pass(steps[n] + time.Duration(w.roll(1000))*time.Microsecond)
	case n == len(steps) && due.After(now):
		r.clock.Set(due)
	case n == len(steps)+1 && due.Add(-time.Millisecond).After(now):
		r.clock.Set(due.Add(-time.Millisecond))
	case n == len(steps)+2:
		r.clock.Set(midnight)
	case n == len(steps)+3:
		r.clock.Set(midnight.Add(-time.Microsecond))
	case n == len(steps)+4 && midnight.Add(-r.grace).After(now):
		r.clock.Set(midnight.Add(-r.grace))
	}
}

func nextMidnight(now time.Time, zone *time.Location) time.Time {
	days := quota.Midnights(now, zone)
	return days[slices.IndexFunc(days, func(t time.Time) bool { return t.After(now) })]
}

func (w *walk) refund() {
	w.t.Helper()
	if len(w.taken) == 0 {
		return
	}
	p := w.taken[len(w.taken)-1-w.roll(min(len(w.taken), 4))]
	got, want := w.rig.ledger.Refund(w.rig.Context(), w.rig.account, p.ledger),
		w.model.Refund(w.rig.Context(), w.rig.account, p.model)
	if !sameError(got, want) {
		w.t.Fatalf("%s: refund %s: %v, want %v", w.rig.at(), show(p.ledger), got, want)
	}
}

func (w *walk) post() {
	w.t.Helper()
	ago := []time.Duration{0, -time.Hour, time.Millisecond, 5 * second, 40 * second, 2 * time.Hour,
		23 * time.Hour, 30 * time.Hour, 63 * time.Hour, 65 * time.Hour}
	at := w.rig.clock.Now().Add(-ago[w.roll(len(ago))])
	a := w.rig.ask(w.charges(1)...)
	for i := range a.Charges {
		a.Charges[i].Amount = max(a.Charges[i].Amount, 1)
	}
	got, want := w.rig.ledger.Post(w.rig.Context(), a, at), w.model.Post(w.rig.Context(), a, at)
	if !sameError(got, want) {
		w.t.Fatalf("%s: post at %s: %v, want %v", w.rig.at(), at, got, want)
	}
}

func (w *walk) drain() {
	w.t.Helper()
	r, now := w.rig, w.rig.clock.Now()
	until := []time.Time{now.Add(5 * time.Minute), {}, nextMidnight(now, r.zone), now.Add(-time.Second),
		now.Add(1234567 * time.Microsecond)}[w.roll(5)]
	pool, d := w.pools[w.roll(len(w.pools))].Name, quota.Drain{Until: until, Used: int64(w.roll(100))}
	for _, l := range []quota.Ledger{r.ledger, w.model} {
		if err := l.Drain(r.Context(), r.account, pool, d); err != nil {
			w.t.Fatalf("%s: drain until %s: %v", r.at(), until, err)
		}
	}
}

func (w *walk) compareSpent() {
	w.t.Helper()
	r := w.rig
	since := r.clock.Now().Add(-24 * time.Hour)
	got, err := r.ledger.Spent(r.Context(), r.account, since, time.Hour)
	want, _ := w.model.Spent(r.Context(), r.account, since, time.Hour)
	if err != nil || !slices.Equal(got, want) {
		w.t.Fatalf("%s: spent since %s: %v (%v), want %v", r.at(), since, got, err, want)
	}
}

// withoutEntries returns a decision without the parts that a ledger may choose.
func withoutEntries(d quota.Decision) quota.Decision {
	d.At, d.RetryAt = d.At.UTC(), d.RetryAt.UTC()
	d.Pools = slices.Clone(d.Pools)
	for i := range d.Pools {
		d.Pools[i].Entry, d.Pools[i].Entries = 0, 0
		d.Pools[i].LastDrain = quota.Drain{}
		d.Pools[i].Drain.Until, d.Pools[i].Drain.At = d.Pools[i].Drain.Until.UTC(), d.Pools[i].Drain.At.UTC()
		d.Pools[i].Windows = slices.Clone(d.Pools[i].Windows)
		for j := range d.Pools[i].Windows {
			d.Pools[i].Windows[j].FreesAt = d.Pools[i].Windows[j].FreesAt.UTC()
		}
	}
	return d
}

func show(v any) string {
	if d, ok := v.(quota.Decision); ok && d.Refusal != nil {
		return fmt.Sprintf("%+v refused by %+v", d, *d.Refusal)
	}
	return fmt.Sprintf("%+v", v)
}

// sameError compares kinds.
func sameError(a, b error) bool {
	for _, kind := range []error{quota.ErrUnknown, quota.ErrNeverFits, quota.ErrUnavailable,
		quota.ErrCorrupt, quota.ErrNewer, quota.ErrNotRefundable, quota.ErrClosed} {
		if errors.Is(a, kind) != errors.Is(b, kind) {
			return false
		}
	}
	return (a == nil) == (b == nil)
}

var (
	_ failer     = (*rapid.T)(nil)
	_ failer     = testing.TB(nil)
	_ testing.TB = (*rig)(nil)
)
