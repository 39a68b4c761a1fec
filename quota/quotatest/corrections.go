package quotatest

import (
	"errors"
	"time"

	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/internal/protocol"
)

func isUnavailable(err error) bool { return errors.Is(err, quota.ErrUnavailable) }

var corrections = []Case{
	{ID: "J1", Name: "a refund gives back the take's charge: once, soon, and never more", check: refundsOnce},
	{ID: "J1", Name: "a refund gives back all pools or none", check: func(r *rig) {
		b := per(time.Hour, 10)
		r.bounds = []quota.Bound{b}
		d := r.draw(charge("units", 4, b), charge("search", 1, b), charge("other", 0, b))
		half := d
		half.Pools = append([]quota.PoolState(nil), d.Pools...)
		half.Pools[1].Charged = 2
		r.fails(quota.ErrNotRefundable, func() error { return r.ledger.Refund(r.Context(), r.account, half) })
		if err := r.ledger.Refund(r.Context(), r.account, d); err != nil {
			r.Fatal(err)
		}
		got := r.draw(charge("units", 0, b), charge("search", 0, b), charge("other", 0, b))
		for _, p := range got.Pools {
			if p.Remaining != 10 {
				r.Fatalf("pool %s has %d left of 10 after the refund, want 10", p.Pool, p.Remaining)
			}
		}
	}},
	{ID: "J1", Name: "with precision a refund is exact or refused", check: func(r *rig) {
		r.precision = second
		for _, between := range []time.Duration{0, 300 * time.Millisecond} {
			r.fresh(noon, per(time.Hour, 20))
			first := r.admits(5, 15)
			err := r.ledger.Refund(r.Context(), r.account, first)
			left := int64(20)
			if errors.Is(err, quota.ErrNotRefundable) {
				left = 15
			} else if err != nil {
				r.Fatal(err)
			}
			r.pass(between)
			second := r.admits(5, left-5)
			r.fails(quota.ErrNotRefundable, func() error { return r.ledger.Refund(r.Context(), r.account, first) })
			r.admits(3, left-8)
			if err := r.ledger.Refund(r.Context(), r.account, second); err == nil {
				left += 5
			}
			r.admits(0, left-8)
		}
	}},
	{ID: "J2", Name: "a refund frees its own entry at its own time", check: func(r *rig) {
		r.bounds = []quota.Bound{per(10*second, 10)}
		r.admits(5, 5)
		r.pass(4 * second)
		d := r.admits(3, 2)
		r.pass(second)
		r.admits(2, 0)
		if err := r.ledger.Refund(r.Context(), r.account, d); err != nil {
			r.Fatal(err)
		}
		r.admits(0, 3)
		r.retries(4, 5*second, "10s")
		r.clock.Set(noon.Add(10*second - time.Millisecond))
		r.refuses(4, 3)
		r.clock.Set(noon.Add(10 * second))
		r.admits(8, 0) // the five are gone, the two still count
		r.retries(1, 5*second, "10s")
	}},
	{ID: "J2", Name: "a refund of the oldest changes when the window frees", check: func(r *rig) {
		r.bounds = []quota.Bound{per(10*second, 10)}
		d := r.admits(5, 5)
		r.pass(4 * second)
		r.admits(5, 0)
		if err := r.ledger.Refund(r.Context(), r.account, d); err != nil {
			r.Fatal(err)
		}
		r.retries(6, 10*second, "10s") // nothing leaves in 6 s
		r.clock.Set(noon.Add(10 * second))
		r.retries(6, 4*second, "10s")
	}},
	{ID: "K12", Name: "after a refund the window frees when an existing entry leaves", check: func(r *rig) {
		r.bounds = []quota.Bound{per(10*second, 10)}
		frees := func(want time.Time) {
			r.Helper()
			if got := r.take(0).Pools[0].Windows[0].FreesAt; !got.Equal(want) {
				r.Fatalf("%s: frees at %s, want %s", r.at(), got, want)
			}
		}
		undo := func(d quota.Decision) {
			r.Helper()
			if err := r.ledger.Refund(r.Context(), r.account, d); err != nil {
				r.Fatal(err)
			}
		}
		oldest := r.admits(2, 8)
		r.pass(second)
		second1 := r.admits(1, 7)
		r.pass(second)
		newest := r.admits(3, 4)
		frees(noon.Add(10 * second))
		undo(oldest)
		frees(noon.Add(11 * second))
		undo(second1)
		frees(noon.Add(12 * second))
		undo(newest)
		frees(time.Time{})
		r.pass(second)
		again := r.admits(3, 7)
		frees(noon.Add(13 * second))
		undo(again)
		if err := r.ledger.Post(r.Context(), r.ask(charge("units", 1, r.bounds...)), noon); err != nil {
			r.Fatal(err)
		}
		frees(noon.Add(10 * second))
		r.pass(7*second + time.Millisecond)
		frees(time.Time{})
		r.admits(10, 0)
		frees(r.clock.Now().Add(10 * second))
	}},
	{ID: "J4", Name: "a reset forgets all of one account, for good", check: resets},
	{ID: "J3", Name: "a post above the limit is kept, and everything after is right", check: posts},
	{ID: "J3", Name: "a post of the past counts at its own time", check: func(r *rig) {
		r.bounds = []quota.Bound{per(10*second, 10)}
		r.admits(2, 8)
		r.pass(8 * second)
		r.admits(2, 6)
		for _, ago := range []time.Duration{5 * second, 9 * second, 10 * second, 30 * time.Hour, -time.Hour} {
			// Three seconds in, one second before all, just outside, beyond the horizon, in the future.
			if err := r.ledger.Post(r.Context(), r.ask(charge("units", 1, r.bounds...)), r.clock.Now().Add(-ago)); err != nil {
				r.Fatalf("post of %v ago: %v", ago, err)
			}
		}
		r.used(7)
		r.retries(4, second, "10s")    // the post that is now 9 s old
		r.retries(6, 2*second, "10s")  // and the take of 2
		r.retries(7, 5*second, "10s")  // and the post 3 s in
		r.retries(8, 10*second, "10s") // and one of the newest
		r.pass(10*second - time.Microsecond)
		r.used(3)
		r.pass(time.Microsecond)
		r.used(0)
	}},
}

func refundsOnce(r *rig) {
	r.bounds = []quota.Bound{per(time.Hour, 10)}
	refund := func(d quota.Decision) error { return r.ledger.Refund(r.Context(), r.account, d) }
	r.admits(4, 6)
	d := r.admits(6, 0)
	refused := r.refuses(1, 0)
	if err := refund(d); err != nil { // at remaining 0
		r.Fatalf("refund: %v", err)
	}
	r.used(4)
	r.fails(quota.ErrNotRefundable, func() error { return refund(d) })
	r.fails(quota.ErrNotRefundable, func() error { return refund(refused) })
	r.admits(6, 0)
	r.fails(quota.ErrNotRefundable, func() error { return refund(d) })

	r.fresh(noon, per(time.Hour, 10))
	d = r.admits(3, 7)
	more := d
	more.Pools = append([]quota.PoolState(nil), d.Pools...)
	more.Pools[0].Charged = 4
	r.fails(quota.ErrNotRefundable, func() error { return refund(more) })
	r.fails(quota.ErrNotRefundable, func() error { return r.ledger.Refund(r.Context(), "nobody", d) })
	r.clock.Set(noon.Add(protocol.RefundWithin + time.Millisecond))
	r.fails(quota.ErrNotRefundable, func() error { return refund(d) })
	r.clock.Set(noon.Add(protocol.RefundWithin))
	if err := refund(d); err != nil {
		r.Fatalf("refund after exactly %v: %v", protocol.RefundWithin, err)
	}
	r.admits(10, 0)

	r.fresh(noon, per(time.Hour, 10))
	first, second := r.admits(3, 7), r.admits(3, 4) // both at the same instant
	for _, d := range []quota.Decision{first, second} {
		if err := refund(d); err != nil {
			r.Fatal(err)
		}
		r.fails(quota.ErrNotRefundable, func() error { return refund(d) })
	}
	r.admits(10, 0)
}

func posts(r *rig) {
	r.bounds = []quota.Bound{per(10*second, 10), per(time.Hour, 100)}
	post := func(amount int64) {
		r.Helper()
		// Spends elsewhere are not subject to any limit.
		wide := charge("units", amount,
			quota.Bound{Window: quota.Window{Name: "post", Length: second, Limit: quota.MaxLimit}, Ceiling: quota.MaxLimit})
		if err := r.ledger.Post(r.Context(), r.ask(wide), r.clock.Now()); err != nil {
			r.Fatalf("post of %d: %v", amount, err)
		}
	}
	r.admits(6, 4)
	post(25)
	r.used(31, 31)
	r.refuses(1, 0)
	r.pass(5 * second)
	post(1)
	d := r.refuses(1, 0)
	if d.RetryAfter != 5*second {
		r.Fatalf("32 of 10 used, 31 of them 5 s old: retry after %v, want 5s", d.RetryAfter)
	}
	r.retries(10, 10*second, "10s")
	r.clock.Set(noon.Add(10 * second))
	r.admits(9, 0)
	post(100)
	r.used(110, 141)
	r.retries(1, time.Hour, "1h0m0s") // 41 of the 42 in excess leave sooner
	r.exact(r.take(1), charge("units", 1, r.bounds...))
}

// resets wants nothing left or, for a ledger that other hosts would restore, a refusal that changes nothing.
func resets(r *rig) {
	b, other := per(10*second, 10), daily(100)
	r.fresh(noon, b, other)
	r.admits(9, 1)
	kept := r.account
	r.fresh(noon, b, other)
	if err := r.ledger.Reset(r.Context(), r.account); err != nil && !errors.Is(err, quota.ErrShared) {
		r.Fatalf("reset of an account that was never used: %v", err)
	}
	r.admits(3, 7)
	r.pass(second)
	taken := r.draw(charge("units", 2, b, other), charge("search", 1, b))
	if err := errors.Join(r.ledger.Post(r.Context(), r.ask(charge("units", 6, b, other)), noon),
		r.ledger.Drain(r.Context(), r.account, "search", quota.Drain{Until: noon.Add(time.Hour), Used: 1})); err != nil {
		r.Fatal(err)
	}
	switch err := r.ledger.Reset(r.Context(), r.account); {
	case errors.Is(err, quota.ErrShared):
		r.used(11, 11)
		if d := r.draw(charge("search", 1, b)); d.Allowed {
			r.Fatal("a search after a refused reset: got allowed, want the pool closed as before")
		}
		return
	case err != nil:
		r.Fatalf("reset: %v", err)
	}
	r.used(0, 0)
	if got, err := r.ledger.Spent(r.Context(), r.account, noon.Add(-time.Hour), 0); err != nil || len(got) > 0 {
		r.Fatalf("after the reset %v are spent (%v), want none", got, err)
	}
	d := r.draw(charge("units", 2, b, other), charge("search", 1, b)) // the same as before, at the same instant
	if !d.Allowed || d.Pools[0].Remaining != 8 || d.Pools[1].Remaining != 9 ||
		!d.Pools[0].Windows[0].FreesAt.Equal(noon.Add(11*second)) {
		r.Fatalf("after the reset: %+v", d)
	}
	r.fails(quota.ErrNotRefundable, func() error { return r.ledger.Refund(r.Context(), r.account, taken) })
	r.pass(second)
	r.admits(8, 0)
	r.retries(1, 9*second, "10s")
	r.exact(r.take(3), charge("units", 3, r.bounds...))
	r.account = kept
	r.clock.Set(noon.Add(20 * second))
	r.used(0, 9)
	r.fails(quota.ErrUnknown, func() error { return r.ledger.Reset(r.Context(), "not an account") })
}
