package quotatest

import (
	"reflect"
	"time"

	"github.com/trendvidstream/ingest/quota"
)

var admission = []Case{
	{ID: "A1", Name: "takes leave 9..0", check: func(r *rig) {
		r.bounds = []quota.Bound{per(10*second, 10)}
		for left := int64(9); left >= 0; left-- {
			r.admits(1, left)
		}
		r.refuses(1, 0)
	}},
	{ID: "A2", Name: "a burst at the edge of a window gets nothing more", check: func(r *rig) {
		// A fixed window of 10 s, if there is one, begins at every tenth second.
		start := noon.Truncate(10 * second)
		r.fresh(start.Add(9*second), per(10*second, 50))
		for left := int64(49); left >= 0; left-- {
			r.admits(1, left)
		}
		r.clock.Set(start.Add(11 * second))
		for range 50 {
			r.refuses(1, 0)
		}
	}},
	{ID: "A3", Name: "a window frees at its length, not a millisecond before", check: func(r *rig) {
		r.bounds = []quota.Bound{per(10*second, 50)}
		fill := func() {
			for left := int64(49); left >= 0; left-- {
				r.admits(1, left)
			}
		}
		fill()
		r.clock.Set(noon.Add(10*second - time.Millisecond))
		r.refuses(1, 0)
		r.clock.Set(noon.Add(10*second - time.Microsecond))
		r.refuses(1, 0)
		r.clock.Set(noon.Add(10 * second))
		fill()
	}},
	{ID: "A4", Name: "a greedy caller gets the limit in every window, and all of it", check: greedy},
	{ID: "A5", Name: "a clock that stands still admits the limit", check: func(r *rig) {
		r.bounds = []quota.Bound{per(10*second, 5)}
		admitted := 0
		for range 50 {
			if r.take(1).Allowed {
				admitted++
			}
		}
		if admitted != 5 {
			r.Fatalf("%d of 50 calls at one instant were admitted, limit 5", admitted)
		}
	}},
	{ID: "A6", Name: "random steps answer as the naive model", check: randomSteps},
	{ID: "A6", Name: "a state machine answers as the naive model", check: stateMachine},
	{ID: "A7", Name: "many writers on one ledger get exactly the limit", check: manyWriters},
	{ID: "A7", Name: "many writers on several handles get exactly the limit", Needs: Another, check: manyHandles},
	{ID: "A7", Name: "many writers in several processes get exactly the limit", Needs: Address, check: manyProcesses},
	{ID: "A7", Name: "some order of concurrent takes explains their answers", check: linearizable},
	{ID: "A8", Name: "a refusal changes nothing, even with old entries to forget", check: func(r *rig) {
		r.bounds = []quota.Bound{per(10*second, 10)}
		at := func(d time.Duration) { r.clock.Set(noon.Add(d)) }
		r.admits(5, 5)
		at(4 * second)
		r.admits(2, 3)
		at(5 * second)
		r.admits(3, 0)
		at(10 * second)
		r.refuses(10, 5)
		at(10*second + second/2)
		r.admits(4, 1)
		at(10*second + 6*second/10)
		r.refuses(3, 1)
	}},
	{ID: "A9", Name: "a peek gets the answer of a take, and charges nothing", check: func(r *rig) {
		r.fresh(noon, per(10*second, 10), daily(20))
		r.admits(3, 7)
		r.pass(second)
		r.admits(4, 3)
		r.pass(second)
		for amount := int64(1); amount <= 10; amount++ {
			a := r.ask(charge("units", amount, r.bounds...))
			a.Peek = true
			peek, err := r.ledger.Take(r.Context(), a)
			if err != nil {
				r.Fatal(err)
			}
			r.sound(a, peek)
			r.used(7, 7)
			take := r.take(amount)
			if peek.Allowed != take.Allowed || peek.RetryAfter != take.RetryAfter ||
				!reflect.DeepEqual(peek.Refusal, take.Refusal) {
				r.Fatalf("a peek at %d: %+v, a take: %+v", amount, peek, take)
			}
			if take.Allowed {
				if err := r.ledger.Refund(r.Context(), a.Account, take); err != nil {
					r.Fatal(err)
				}
			}
		}
	}},
}

// greedy asks for one unit every 130 ms and checks every window of the admitted takes.
func greedy(r *rig) {
	const limit, window = 5, 10 * second
	r.bounds = []quota.Bound{per(window, limit)}
	var admitted []time.Time
	for r.clock.Now().Before(noon.Add(60 * second)) {
		if d := r.take(1); d.Allowed {
			admitted = append(admitted, d.At)
		}
		r.pass(130 * time.Millisecond)
	}
	if n := mostWithin(admitted, window); n != limit {
		r.Fatalf("%d admitted within %v, limit %d", n, window, limit)
	}
	if len(admitted) != 6*limit {
		r.Fatalf("%d admitted in a minute, %d would have fitted", len(admitted), 6*limit)
	}
}

// mostWithin returns the largest number of the ascending times that lie within one half-open window.
func mostWithin(times []time.Time, window time.Duration) int {
	most := 0
	for i, from := range times {
		n := 0
		for _, t := range times[i:] {
			if t.Before(from.Add(window)) {
				n++
			}
		}
		most = max(most, n)
	}
	return most
}
