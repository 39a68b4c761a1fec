package quotatest

import (
	"errors"
	"fmt"
	"reflect"
	"sync"
	"time"

	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/sharedledger"
)

// remote returns the ledger under test as a sharedledger.Remote.
func (r *rig) remote() sharedledger.Remote {
	r.Helper()
	remote, ok := r.ledger.(sharedledger.Remote)
	if !ok {
		r.Fatalf("%T is no sharedledger.Remote", r.ledger)
	}
	return remote
}

const (
	first sharedledger.Generation = 4_503_599_627_370_495 // the largest there is
	next  sharedledger.Generation = 1
)

// begin continues with a fresh account and starts its first generation.
func (r *rig) begin(bounds ...quota.Bound) {
	r.Helper()
	r.fresh(noon, bounds...)
	r.renew(sharedledger.Renewal{Next: first, First: true}, first)
}

// renew asks for a new generation and wants this one to be in force.
func (r *rig) renew(n sharedledger.Renewal, want sharedledger.Generation) {
	r.Helper()
	n.Account, n.Pools, n.Horizon = r.account, []string{"units", "search"}, max(r.horizon, quota.MinHorizon)
	got, err := r.remote().Renew(r.Context(), n)
	if err != nil || got != want {
		r.Fatalf("%s: renew %d by %d: %d %v, want %d", r.at(), n.Was, n.Next, got, err, want)
	}
}

// op returns the writer's operation in the first generation, with a nonce of its own.
func op(writer string, number int64) sharedledger.Operation {
	return sharedledger.Operation{Generation: first, Writer: writer, Number: number, Nonce: 1<<51 + number}
}

// once takes under a number from the pool "units".
func (r *rig) once(o sharedledger.Operation, amount int64) (quota.Decision, error) {
	r.Helper()
	a := r.ask(charge("units", amount, r.bounds...))
	d, err := r.remote().TakeOnce(r.Context(), a, o)
	if err == nil {
		r.sound(a, d)
	}
	return d, err
}

// charges takes under a number and wants it admitted.
func (r *rig) charges(o sharedledger.Operation, amount int64) quota.Decision {
	r.Helper()
	d, err := r.once(o, amount)
	if err != nil || !d.Allowed {
		r.Fatalf("%s: %+v for %d: %+v %v, want it admitted", r.at(), o, amount, d, err)
	}
	return d
}

// failsOnce wants an error of this kind from the operation, and nothing changed.
func (r *rig) failsOnce(want error, o sharedledger.Operation, amount int64) {
	r.Helper()
	r.fails(want, func() error {
		_, err := r.once(o, amount)
		return err
	})
}

// over wants the error of an ended generation, and nothing changed.
func (r *rig) over(now sharedledger.Generation, do func() error) {
	r.Helper()
	before := r.take(0)
	err := do()
	if g := (*sharedledger.GenerationError)(nil); !errors.As(err, &g) || g.Now != now {
		r.Fatalf("%s: %v, want generation %d", r.at(), err, now)
	}
	if after := r.take(0); !reflect.DeepEqual(before, after) {
		r.Fatalf("%s: a failed ask changed the ledger from\n%+v to\n%+v", r.at(), before, after)
	}
}

func (r *rig) standing(writers ...string) sharedledger.RemoteState {
	r.Helper()
	s, err := r.remote().State(r.Context(), r.account, writers)
	if err != nil {
		r.Fatalf("standing: %v", err)
	}
	return s
}

// wrote wants the writer to be at this number.
func (r *rig) wrote(writer string, want int64) {
	r.Helper()
	if got := r.standing("nobody", writer).Written[writer]; got != want {
		r.Fatalf("%s: writer %s is at %d, want %d", r.at(), writer, got, want)
	}
}

var numbered = []Case{
	{ID: "G1", Name: "a number asked again is answered as it was, and charged once", check: func(r *rig) {
		for _, limit := range []int64{100, 10} { // 10: exactly the cost is left
			r.begin(per(time.Hour, limit), daily(100))
			d := r.charges(op("a", 1), 10)
			r.used(10, 10)
			for range 3 {
				r.pass(second)
				if again := r.charges(op("a", 1), 10); !reflect.DeepEqual(again, d) {
					r.Fatalf("asked again:\n%+v, at first\n%+v", again, d)
				}
				r.used(10, 10)
			}
			r.wrote("a", 1)
		}
	}},
	{ID: "G1", Name: "an answer outlives others' charges, and charges that have left its window", check: func(r *rig) {
		r.begin(per(time.Hour, 20))
		both := []quota.Charge{charge("search", 1, per(2*time.Hour, 5)), charge("units", 10, r.bounds...)}
		d, err := r.remote().TakeOnce(r.Context(), r.ask(both...), op("a", 7))
		if err != nil || !d.Allowed {
			r.Fatalf("%+v %v, want it admitted", d, err)
		}
		r.charges(op("b", 1), 10) // full
		r.pass(90 * time.Minute)
		r.charges(op("b", 2), 20) // and full again
		again, err := r.remote().TakeOnce(r.Context(), r.ask(both...), op("a", 7))
		if err != nil || !reflect.DeepEqual(again, d) {
			r.Fatalf("asked again:\n%+v %v, at first\n%+v", again, err, d)
		}
		r.used(20)
	}},
	{ID: "G1", Name: "an operation answered twice is refunded once", check: func(r *rig) {
		r.begin(per(time.Hour, 10))
		r.charges(op("a", 1), 4)
		d := r.charges(op("a", 1), 4)
		if err := r.ledger.Refund(r.Context(), r.account, d); err != nil {
			r.Fatalf("refund: %v", err)
		}
		r.used(0)
		r.fails(quota.ErrNotRefundable, func() error { return r.ledger.Refund(r.Context(), r.account, d) })
		r.charges(op("a", 1), 4)
		r.used(0)
	}},
	{ID: "G1", Name: "a number under another nonce, or before the last, is a clone", check: func(r *rig) {
		r.begin(per(time.Hour, 10))
		r.charges(op("a", 4), 2)
		other := op("a", 4)
		other.Nonce++
		r.failsOnce(sharedledger.ErrClone, other, 2)
		r.failsOnce(sharedledger.ErrClone, op("a", 3), 2)
		r.charges(op("b", 3), 2) // a writer of another name is no clone
		r.used(4)
		r.wrote("a", 4)
	}},
	{ID: "G1", Name: "numbers may be left out", check: func(r *rig) {
		r.begin(per(time.Hour, 10))
		r.charges(op("a", 2), 1)
		o := op("a", 9)
		o.Written = 2
		r.charges(o, 1)
		r.used(2)
		r.wrote("a", 9)
	}},
	{ID: "G1", Name: "a refusal is not stored: the same number is decided again", check: func(r *rig) {
		r.begin(per(time.Hour, 10))
		r.charges(op("b", 1), 10)
		if d, err := r.once(op("a", 1), 1); err != nil || d.Allowed || d.RetryAfter != time.Hour {
			r.Fatalf("%+v %v, want it refused for an hour", d, err)
		}
		r.wrote("a", 0)
		r.pass(time.Hour)
		r.charges(op("a", 1), 1)
		r.used(1)
	}},
	{ID: "G1", Name: "a peek leaves its number unused", check: func(r *rig) {
		r.begin(per(time.Hour, 10))
		r.charges(op("a", 1), 3)
		look := op("a", 2)
		look.Written = 1
		if d, err := r.once(look, 0); err != nil || !d.Allowed || d.Pools[0].Remaining != 7 {
			r.Fatalf("%+v %v, want it admitted, with 7 remaining", d, err)
		}
		r.wrote("a", 1)
		look.Nonce++
		r.charges(look, 3)
		r.used(6)
		behind := op("a", 4)
		behind.Written = 3
		r.failsOnce(sharedledger.ErrLost, behind, 0)
	}},
	{ID: "G1", Name: "one operation asked from many sides at once is charged once", check: func(r *rig) {
		r.begin(per(time.Hour, 10))
		a := r.ask(charge("units", 5, r.bounds...))
		got := make([]quota.Decision, 8)
		var wg sync.WaitGroup
		for i := range got {
			wg.Go(func() {
				d, err := r.remote().TakeOnce(r.Context(), a, op("a", 1))
				if err != nil {
					r.Errorf("%v", err)
				}
				got[i] = d
			})
		}
		wg.Wait()
		for _, d := range got {
			if !reflect.DeepEqual(d, got[0]) {
				r.Fatalf("answers\n%+v and\n%+v", d, got[0])
			}
		}
		r.used(5)
	}},
	{ID: "G1", Name: "a wrong ask is no operation", check: func(r *rig) {
		r.begin(per(time.Hour, 10))
		r.failsOnce(quota.ErrNeverFits, op("a", 1), 11)
		r.wrote("a", 0)
		r.charges(op("a", 1), 1)
	}},
	{ID: "G1", Name: "a writer is remembered for the horizon", check: func(r *rig) {
		r.begin(per(time.Hour, 10))
		r.charges(op("a", 1), 1)
		r.pass(quota.MinHorizon - second)
		for i := range int64(5) {
			r.charges(op("b", i+1), 1)
		}
		r.wrote("a", 1)
		o := op("a", 2)
		o.Written = 1
		r.charges(o, 1)
	}},
}

var generations = []Case{
	{ID: "G5", Name: "without a state nothing is done: the ledger was lost", check: func(r *rig) {
		r.fresh(noon, per(time.Hour, 10))
		if s := r.standing("a"); s.Generation != 0 || len(s.Hosts) != 0 || s.Written["a"] != 0 ||
			!s.Born.IsZero() || !s.At.Equal(noon) {
			r.Fatalf("%+v, want an empty state at %v", s, noon)
		}
		if _, err := r.once(op("a", 1), 1); !errors.Is(err, sharedledger.ErrLost) {
			r.Fatalf("take: %v, want error %v", err, sharedledger.ErrLost)
		}
		if _, err := r.remote().Sync(r.Context(),
			sharedledger.Batch{Account: r.account, Generation: first, Horizon: quota.MinHorizon,
				Rows: []sharedledger.Row{r.row("a", 1, noon, 3)}}); !errors.Is(err, sharedledger.ErrLost) {
			r.Fatalf("sync: %v, want error %v", err, sharedledger.ErrLost)
		}
		if s := r.standing("a"); s.Generation != 0 {
			r.Fatalf("asking created a state: %+v, want Generation 0", s)
		}
		r.renew(sharedledger.Renewal{Was: next, Next: first}, 0)
		if s := r.standing("a"); s.Generation != 0 {
			r.Fatalf("ending another generation created a state: %+v, want Generation 0", s)
		}
	}},
	{ID: "G5", Name: "a writer's number behind its own operations is a loss", check: func(r *rig) {
		r.begin(per(time.Hour, 10))
		behind := op("a", 3)
		behind.Written = 2
		r.failsOnce(sharedledger.ErrLost, behind, 1)
		r.charges(op("a", 1), 1)
		r.failsOnce(sharedledger.ErrLost, behind, 1)
		behind.Written = 1
		r.charges(behind, 1)
		// Also if it is asked again, or would be a clone.
		behind.Written = 4
		r.failsOnce(sharedledger.ErrLost, behind, 1)
		r.used(2)
	}},
	{ID: "G5", Name: "an ended generation is refused, and the error names the present one", check: func(r *rig) {
		r.begin(per(time.Hour, 10))
		r.charges(op("a", 1), 4)
		r.renew(sharedledger.Renewal{Was: first, Next: next}, next)
		for _, o := range []sharedledger.Operation{op("a", 1), op("a", 2), op("b", 1),
			{Generation: first, Writer: "a", Number: 9, Nonce: 1, Written: 8}} {
			r.over(next, func() error { _, err := r.once(o, 1); return err })
		}
		r.over(next, func() error {
			_, err := r.remote().Sync(r.Context(),
				sharedledger.Batch{Account: r.account, Generation: first, Horizon: quota.MinHorizon,
					Rows: []sharedledger.Row{r.row("c", 1, noon, 3)}, Snapshots: []sharedledger.UsageSnapshot{r.snapshot(noon, 9)},
					Host: &sharedledger.Host{ID: "h"}})
			return err
		})
		if s := r.standing("c"); s.Written["c"] != 0 || len(s.Hosts) != 0 {
			r.Fatalf("%+v, want nothing written by c, and no Hosts", s)
		}
	}},
	{ID: "G5", Name: "a generation ends once", check: func(r *rig) {
		r.begin(per(time.Hour, 10))
		if s := r.standing(); s.Generation != first || !s.Born.IsZero() {
			r.Fatalf("a first start: %+v", s)
		}
		r.renew(sharedledger.Renewal{Next: 77, First: true}, first) // there is a state
		r.pass(time.Minute)
		r.renew(sharedledger.Renewal{Was: first, Next: next}, next)
		r.sync(sharedledger.Batch{Generation: next, Host: &sharedledger.Host{ID: "h", Name: "here"}})
		r.pass(time.Minute)
		r.renew(sharedledger.Renewal{Was: first, Next: 78}, next) // another writer was first
		if s := r.standing(); s.Generation != next || !s.Born.Equal(noon.Add(time.Minute)) || len(s.Hosts) != 1 {
			r.Fatalf("%+v, want generation %v, a minute old, with one host", s, next)
		}
		r.renew(sharedledger.Renewal{Was: next, Next: 79}, 79)
		if s := r.standing(); s.Generation != 79 || !s.Born.Equal(noon.Add(2*time.Minute)) || len(s.Hosts) != 0 {
			r.Fatalf("%+v: want a generation that no host has synced to", s)
		}
	}},
	{ID: "G5", Name: "a new generation keeps a whole log, its writers and their answers", check: func(r *rig) {
		r.begin(per(time.Hour, 10))
		d := r.charges(op("a", 1), 4)
		r.renew(sharedledger.Renewal{Was: first, Next: next}, next)
		r.used(4)
		r.wrote("a", 1)
		o := op("a", 1)
		o.Generation = next
		if again := r.charges(o, 4); !reflect.DeepEqual(again, d) {
			r.Fatalf("asked again:\n%+v, at first\n%+v", again, d)
		}
		r.used(4)
	}},
	{ID: "G5", Name: "an evicted state is a loss, and begins a new generation", Needs: Evict, check: func(r *rig) {
		r.begin(per(time.Hour, 10))
		r.charges(op("a", 1), 4)
		r.store.Evict(r)
		if _, err := r.once(op("a", 2), 1); !errors.Is(err, sharedledger.ErrLost) {
			r.Fatalf("take: %v, want error %v", err, sharedledger.ErrLost)
		}
		if s := r.standing("a"); s.Generation != 0 || s.Written["a"] != 0 {
			r.Fatalf("%+v, want Generation 0, and nothing written by a", s)
		}
		r.renew(sharedledger.Renewal{Was: first, Next: next}, 0)
		r.renew(sharedledger.Renewal{Next: next}, next)
		if s := r.standing("a"); !s.Born.Equal(noon) || s.Written["a"] != 0 {
			r.Fatalf("%+v, want it born at %v, and nothing written by a", s, noon)
		}
		r.used(0)
	}},
	{ID: "L3", Name: "an account with a missing part is lost, never empty", Needs: EvictPart, check: func(r *rig) {
		for _, part := range []Part{PartLog, PartPool, PartWriters} {
			r.about = fmt.Sprintf("without its %s: ", part)
			r.begin(per(time.Hour, 10))
			search := charge("search", 1, per(time.Hour, 10))
			for i, c := range []quota.Charge{charge("units", 4, r.bounds...), search} {
				if d, err := r.remote().TakeOnce(r.Context(), r.ask(c), op("a", int64(i)+1)); err != nil || !d.Allowed {
					r.Fatalf("%+v %v, want it admitted", d, err)
				}
			}
			r.store.EvictPart(r, r.account, part)
			mine := op("a", 3)
			mine.Written = 2
			r.loses(mine)
			if part != PartWriters { // which only a listed writer misses
				r.loses(op("a", 3))
				r.loses(op("b", 1))
				_, err := r.remote().Sync(r.Context(),
					sharedledger.Batch{Account: r.account, Generation: first, Horizon: quota.MinHorizon,
						Rows: []sharedledger.Row{r.row("c", 1, noon, 3)}})
				if !errors.Is(err, sharedledger.ErrLost) {
					r.Fatalf("%ssync: %v, want error %v", r.about, err, sharedledger.ErrLost)
				}
			}
			r.renew(sharedledger.Renewal{Was: first, Next: next}, next)
			r.wrote("a", 0) // its rows must be synced
			if part == PartWriters {
				continue
			}
			r.used(0)
			if used := r.draw(charge("search", 0, search.Bounds...)).Pools[0].Windows[0].Used; used != 0 {
				r.Fatalf("%s%d searches used, and their writers are forgotten, want 0", r.about, used)
			}
		}
	}},
}

// loses wants a loss, whether the operation charges or only peeks.
func (r *rig) loses(o sharedledger.Operation) {
	r.Helper()
	for _, amount := range []int64{1, 0} {
		if d, err := r.once(o, amount); !errors.Is(err, sharedledger.ErrLost) {
			r.Fatalf("%s: %s takes %d: %+v %v, want error %v", r.at(), o.Writer, amount, d, err, sharedledger.ErrLost)
		}
	}
}
