package quota

import (
	"context"
	"slices"
	"time"
)

// Fits reports whether Take would admit the request now. It charges and reserves nothing. Errors as Take, except that
// a ledger that cannot answer is always an error.
func (g *Governor) Fits(ctx context.Context, r Request) (bool, error) {
	a, fits, err := g.ask(ctx, r)
	if err != nil || !fits {
		return false, err
	}
	d, err := g.peek(ctx, a, r.Calls)
	return d.Allowed, err
}

// TakeUpTo draws in one step the cost of as many calls as fit, at most n, and returns their number: 0 with a refusal
// if not even one fits. The decision, and its refund, covers all of them. While the ledger cannot answer it takes one
// call. Errors as Take.
func (g *Governor) TakeUpTo(ctx context.Context, r Request, n int64) (calls int64, d Decision, err error) {
	for r.times = n; r.times > 0; r.times-- { // try fewer: other programs spent in between
		a, fits, err := g.ask(ctx, r)
		if err != nil {
			return 0, Decision{}, err
		}
		room, err := g.room(ctx, a)
		if err != nil || !fits {
			room = 1
		}
		r.times = min(r.times, max(room, 1))
		switch d, err = g.Take(ctx, r); {
		case err == nil && d.Allowed:
			return r.times, d, nil
		case err != nil && r.times == 1:
			return 0, d, err
		case err != nil:
			r.times = 2 // next, try one
		}
	}
	return 0, d, nil
}

// Wait is a Take that waits until the request fits, even if others spend first. If ctx ends first, it returns the last
// refusal and ctx's error; a deadline earlier than the refusal's RetryAfter returns at once.
func (g *Governor) Wait(ctx context.Context, r Request) (Decision, error) {
	for {
		d, err := g.Take(ctx, r)
		if err != nil || d.Allowed {
			return d, err
		}
		if end, ok := ctx.Deadline(); ok && time.Until(end) < d.RetryAfter {
			return d, context.DeadlineExceeded
		}
		timer := time.NewTimer(d.RetryAfter)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return d, context.Cause(ctx)
		}
	}
}

// room returns how many times the charges of an ask fit now.
func (g *Governor) room(ctx context.Context, a Ask) (int64, error) {
	d, err := g.ledger().Take(ctx, a.times(0))
	if err != nil {
		return 0, err
	}
	room := int64(MaxLimit)
	for i, c := range a.Charges {
		room = min(room, d.Pools[i].Remaining/c.Amount)
	}
	return room, nil
}

// times returns the ask for several calls; 0 peeks.
func (a Ask) times(calls int64) Ask {
	a.Charges = slices.Clone(a.Charges)
	for i := range a.Charges {
		a.Charges[i].Amount *= calls
	}
	return a
}
