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

// dice chooses one of n ways for a random walk; 0 is the simplest.
type dice func(n int) int

// stateMachine is A6 by rapid, which finds the fewest steps that show a difference.
func stateMachine(r *rig) {
	_ = flag.Set("rapid.nofailfile", "true") // the seed that it prints is enough
	rapid.Check(r, func(t *rapid.T) {
		w := newWalk(r, t, func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "turn") })
		actions := map[string]func(*rapid.T){"": func(*rapid.T) { w.sums() }}
		for _, s := range steps {
			if s.often > 2 {
				actions[s.name] = func(*rapid.T) { s.do(w) }
			}
		}
		t.Repeat(actions)
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
	floor  time.Time      // no clock is set to before it
	counts map[string]int
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
	w := &walk{rig: r, t: t, roll: roll, model: &Model{Now: r.clock.Now}, counts: map[string]int{},
		shares: map[quota.Purpose]quota.Share{quota.Scheduled: 950_000, quota.Refresh: 950_000, quota.Backfill: 700_000,
			quota.Manual: 995_000}}
	for _, name := range []string{"units", "search", "burst"}[:1+roll(3)] {
		w.pools = append(w.pools, quota.Pool{Name: name, Windows: w.windows()})
	}
	return w
}

// windows returns one to three different windows.
func (w *walk) windows() []quota.Window {
	lengths := []time.Duration{24 * time.Hour, 0, 10 * second, time.Minute, time.Hour, second, 48 * time.Hour,
		1500 * time.Millisecond}
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

// charges returns charges on some of the pools.
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

// affordable returns charges that can usually fit at some time.
func (w *walk) affordable(most int) []quota.Charge {
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

// agree wants an error of the model's kind, and reports whether there is none. An ask that never fits, under a clock
// that cannot be believed, may be refused for either reason.
func (w *walk) agree(what string, a quota.Ask, got, want error) bool {
	w.t.Helper()
	never := want != nil && errors.Is(got, quota.ErrNeverFits) && errors.Is(a.Check(w.rig.clock.Now()), quota.ErrNeverFits)
	if !never && !sameError(got, want) {
		w.t.Fatalf("%s: %s %+v: %v, want %v", w.rig.at(), what, a.Charges, got, want)
	}
	if got != nil {
		w.counts[what+" in vain"]++
	}
	return got == nil
}

func (w *walk) take(peek bool) {
	w.t.Helper()
	r := w.rig
	r.who.Purpose, r.who.Region = quota.Purposes()[w.roll(4)], []string{"US", "GB"}[w.roll(2)]
	a := r.ask(w.affordable(min(w.roll(12), 1))...)
	a.Peek = peek
	w.draw(a)
}

// draw asks ledger and model, and returns the ledger's decision; ok is false after an error.
func (w *walk) draw(a quota.Ask) (got quota.Decision, ok bool) {
	w.t.Helper()
	r := w.rig
	got, err := r.ledger.Take(r.Context(), a)
	want, wantErr := w.model.Take(r.Context(), a)
	if !w.agree("take", a, err, wantErr) {
		return got, false
	}
	if err := sound(a, got); err != nil {
		w.t.Fatalf("%s: take %+v: %+v: %v", r.at(), a.Charges, got, err)
	}
	if g, m := withoutEntries(got), withoutEntries(want); !reflect.DeepEqual(g, m) {
		w.t.Fatalf("%s: take %s, peek %t\ngot   %s\nwant  %s", r.at(), show(a.Charges), a.Peek, show(g), show(m))
	}
	switch {
	case !got.Allowed:
		w.counts["refused"]++
		w.last = got
	case !a.Peek && slices.ContainsFunc(a.Charges, func(c quota.Charge) bool { return c.Amount > 0 }):
		w.taken = append(w.taken, pair{got, want})
	}
	return got, true
}

// setBack moves the clock back, sometimes by more than a ledger may believe.
func (w *walk) setBack() {
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

// wait moves the clock: by a little, by a lot, or to just before or at the moment that matters.
func (w *walk) wait() {
	r, now := w.rig, w.rig.clock.Now()
	due := w.last.RetryAt
	midnight := nextMidnight(now, r.zone)
	steps := []time.Duration{time.Microsecond, time.Millisecond, 700 * time.Millisecond, 3 * second, 20 * second,
		5 * time.Minute, 50 * time.Minute, 7 * time.Hour, 30 * time.Hour}
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
	w.agree("refund", quota.Ask{},
		w.rig.ledger.Refund(w.rig.Context(), w.rig.account, p.ledger),
		w.model.Refund(w.rig.Context(), w.rig.account, p.model))
}

func (w *walk) post() {
	w.t.Helper()
	ago := []time.Duration{0, -time.Hour, time.Millisecond, 5 * second, 40 * second, 2 * time.Hour,
		23 * time.Hour, 30 * time.Hour, 63 * time.Hour, 65 * time.Hour}
	at := w.rig.clock.Now().Add(-ago[w.roll(len(ago))])
	a := w.rig.ask(w.affordable(1)...)
	w.agree("post", a, w.rig.ledger.Post(w.rig.Context(), a, at), w.model.Post(w.rig.Context(), a, at))
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

// idle takes until the next number of a pool is a multiple of 64, when ledgers delete old entries, and then takes
// nothing for a day or two.
func (w *walk) idle() {
	w.t.Helper()
	pool := w.pools[w.roll(len(w.pools))].Name
	for range 64 {
		d, ok := w.draw(w.rig.ask(charge(pool, 1, per(second, quota.MaxLimit))))
		if !ok || !d.Allowed {
			return
		}
		w.rig.pass(time.Microsecond)
		if d.Pools[0].Entry%64 == 63 {
			break
		}
	}
	w.rig.pass(20*time.Hour + time.Duration(w.roll(40*3600))*second)
	w.take(false)
}

// yearAhead takes under a clock that is a year ahead. Once that is corrected, the ledger cannot answer until a reset.
func (w *walk) yearAhead() {
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
	w.take(false)
}

// yearBehind takes under a clock that is a year behind, which is believed only where nothing is newer.
func (w *walk) yearBehind() {
	w.t.Helper()
	r, now := w.rig, w.rig.clock.Now()
	behind := now.AddDate(-1, 0, 0)
	if r.backend.Forward || behind.Before(w.floor) {
		return
	}
	r.clock.Set(behind)
	w.take(false)
	r.clock.Set(now)
	w.take(false)
}

// change changes a pool's windows, as a new costs.yaml does.
func (w *walk) change() { w.pools[w.roll(len(w.pools))].Windows = w.windows() }

// reset resets the ledger if it may be reset, and reports whether it was.
func (w *walk) reset() bool {
	w.t.Helper()
	err := w.rig.ledger.Reset(w.rig.Context(), w.rig.account)
	if errors.Is(err, quota.ErrShared) {
		return false
	}
	if err = errors.Join(err, w.model.Reset(w.rig.Context(), w.rig.account)); err != nil {
		w.t.Fatalf("%s: reset: %v", w.rig.at(), err)
	}
	w.floor = w.rig.clock.Now() // a ledger may forget a clock's earlier setting
	return true
}

// sums compares the spends, and their spenders.
func (w *walk) sums() {
	w.t.Helper()
	r := w.rig
	since := r.clock.Now().Add(-time.Duration(w.roll(25)) * time.Hour)
	every := time.Duration(w.roll(3)) * 50 * time.Minute
	got, err := r.ledger.Spent(r.Context(), r.account, since, every)
	want, _ := w.model.Spent(r.Context(), r.account, since, every)
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

// sameError reports whether two errors are of the same kind.
func sameError(a, b error) bool {
	for _, kind := range []error{quota.ErrUnknown, quota.ErrNeverFits, quota.ErrUnavailable, quota.ErrCorrupt,
		quota.ErrNewer, quota.ErrNotRefundable, quota.ErrClosed} {
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
