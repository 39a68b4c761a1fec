package quota

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sort"
	"time"
)

// cheap returns nil if a call may be made without the ledger, and otherwise the reason why not.
func (g *Governor) cheap(a Ask) error {
	for _, c := range a.Charges {
		for _, b := range c.Bounds {
			if maxCharge := g.Tariff.Failure.OpenAtMost.Of(b.Window.Limit); c.Amount > maxCharge {
				return fmt.Errorf("%s costs %d of pool %s: without the ledger a call may cost at most %d",
					a.Who.Method, c.Amount, c.Pool, maxCharge)
			}
			if c.Amount > b.Ceiling { // see Tariff.bound
				return fmt.Errorf("%s costs %d of pool %s: the schedule leaves only %d", a.Who.Method, c.Amount, c.Pool, b.Ceiling)
			}
		}
	}
	return nil
}

// degraded decides about a call after the ledger failed to answer because of cause.
func (g *Governor) degraded(ctx context.Context, a Ask, cause error) (Decision, error) {
	if !errors.Is(cause, ErrUnavailable) && !errors.Is(cause, ErrCorrupt) {
		return Decision{}, cause // the call itself is wrong
	}
	if ctx.Err() != nil {
		return Decision{}, context.Cause(ctx)
	}
	closed := fmt.Errorf("%w: %s: %w", ErrClosed, a.Who.Method, cause)
	if g.EmergencyAccount == nil || a.Who.Purpose == Client {
		return Decision{}, closed
	}
	if err := g.cheap(a); err != nil {
		return Decision{}, fmt.Errorf("%w: %w: %w", ErrClosed, err, cause)
	}
	last, err := g.emergencies().LastUsage(ctx, g.Account)
	if err != nil {
		return Decision{}, fmt.Errorf("%w; and the journal: %w", closed, err)
	}
	e := Emergency{Account: g.Account, At: g.Now(), Who: a.Who, Amounts: Cost{}, Cause: cause}
	d := Decision{Allowed: true, At: e.At, Who: a.Who, Degraded: true}
	var budgets []EmergencyBudget
	for _, c := range a.Charges {
		e.Amounts[c.Pool] = c.Amount
		if refusal := g.drained(c, last, e.At); refusal != nil {
			return *refusal, nil
		}
		budgets = append(budgets, g.budgets(a, c, last, e.At)...)
		d.Pools = append(d.Pools, PoolState{Pool: c.Pool, Charged: c.Amount})
	}
	if d.Row, err = g.emergencies().Spend(ctx, e, budgets); err != nil {
		return Decision{}, fmt.Errorf("%w; and the journal: %w", closed, err)
	}
	if d.Row == 0 {
		return Decision{}, fmt.Errorf("%w: %s: the budget for calls without the ledger is used up: %w",
			ErrClosed, a.Who.Method, cause)
	}
	if !g.inEmergency.Swap(true) && g.Log != nil {
		g.Log.WarnContext(ctx, "the ledger cannot answer: cheap calls go on, from the emergency budget",
			slog.Any("error", cause))
	}
	return d, nil
}

// EmergencyLeft is the amount of one pool that the schedule may spend while the ledger cannot answer.
type EmergencyLeft struct {
	Pool      string
	Remaining int64     // in units of the pool: 0 up to its emergency budget; 0 if it does not pay for a call
	ResumesAt time.Time // when it pays for one again; zero: it pays for one now, or the time is not known
}

// EmergencyLeft returns, for each pool that Governor.Usual (or else the tariff's cheapest call of the pool) draws
// from, the amount that a take without the ledger would find. It is empty if no such call may be made without the
// ledger.
func (g *Governor) EmergencyLeft(ctx context.Context) (left []EmergencyLeft, err error) {
	if g.EmergencyAccount == nil {
		return nil, nil
	}
	last, err := g.emergencies().LastUsage(ctx, g.Account)
	if err != nil {
		return nil, fmt.Errorf("read the journal: %w", err)
	}
	now, cost := g.Now(), g.Tariff.Methods[g.Usual]
	for _, p := range g.Tariff.Pools {
		amount := cost[p.Name]
		if cost == nil {
			amount = g.Tariff.cheapest(p.Name)
		}
		if amount == 0 {
			continue
		}
		c := p.charge(amount, g.Tariff.Ceilings[Scheduled])
		if g.cheap(Ask{Charges: []Charge{c}}) != nil {
			if cost != nil {
				return nil, nil
			}
			continue
		}
		one := EmergencyLeft{Pool: p.Name}
		if one.Remaining, err = g.leftFor(ctx, c, last, now); err == nil && one.Remaining == 0 {
			one.ResumesAt, err = g.resumesFor(ctx, c, last, now)
		}
		if err != nil {
			return nil, fmt.Errorf("read the journal: %w", err)
		}
		left = append(left, one)
	}
	return left, nil
}

// ResumeBy notes the latest time when all calls become possible again.
func (l *EmergencyLeft) ResumeBy(until time.Time) {
	if l.Remaining == 0 && (l.ResumesAt.IsZero() || l.ResumesAt.After(until)) {
		l.ResumesAt = until
	}
}

// leftFor returns the amount that may be spent without the ledger at a time, for charges like c; 0 if it is less than
// c.
func (g *Governor) leftFor(ctx context.Context, c Charge, last []LastUsage, at time.Time) (int64, error) {
	if g.drained(c, last, at) != nil {
		return 0, nil
	}
	all, err := g.emergencies().Left(ctx, g.Account, at, g.budgets(g.Tariff.ask(g.Account, at), c, last, at))
	if least := slices.Min(append(all, MaxLimit)); err == nil && least >= c.Amount {
		return least, nil
	}
	return 0, err
}

// resumesFor returns when such a charge may be spent without the ledger again, to the second; zero if even an empty
// window would not pay for it.
func (g *Governor) resumesFor(ctx context.Context, c Charge, last []LastUsage, now time.Time) (time.Time, error) {
	after := func(s int) time.Time { return now.Truncate(time.Second).Add(time.Duration(s) * time.Second) }
	longest := int((g.Tariff.pool(c.Pool).longest()+g.Tariff.Grace)/time.Second) + 2
	var err error
	s := sort.Search(longest, func(s int) bool {
		left, failed := g.leftFor(ctx, c, last, after(s))
		err = cmp.Or(err, failed)
		return left > 0
	})
	if s == longest || err != nil {
		return time.Time{}, err
	}
	return after(s), nil
}

// drained returns the refusal of the provider itself, if one is known and still in force. It does not ask the ledger.
func (g *Governor) drained(c Charge, last []LastUsage, now time.Time) *Decision {
	for _, u := range last {
		if u.Pool == c.Pool && c.Amount > 0 && u.Drain.Active(now) {
			d := &Decision{
				At: now, Degraded: true,
				Pools:   []PoolState{{Pool: u.Pool, Drain: u.Drain}},
				Refusal: u.Drain.refusal(c.Pool, c.Bounds[0]),
			}
			d.refuse(now, u.Drain.Until)
			return d
		}
	}
	return nil
}

// budgets returns the limits that the charge must fit: the emergency budget and, for each window, the amount left
// when the ledger last answered.
func (g *Governor) budgets(a Ask, c Charge, last []LastUsage, now time.Time) []EmergencyBudget {
	emergency := EmergencyBudget{Pool: c.Pool, Amount: MaxLimit, Shared: true,
		Since: now.Add(-g.Tariff.pool(c.Pool).longest() - a.Grace)}
	for _, b := range c.Bounds {
		emergency.Amount = min(emergency.Amount, g.Tariff.emergency(b.Window.Limit))
	}
	all := []EmergencyBudget{emergency}
	for _, u := range last {
		for _, b := range c.Bounds {
			if used, ok := u.Used[b.Window]; ok && u.Pool == c.Pool && a.stillCounts(b.Window, u.At, now) {
				all = append(all, EmergencyBudget{Pool: c.Pool, Amount: b.Ceiling - used, Since: u.At})
			}
		}
	}
	return all
}

// stillCounts reports whether amounts that a window counted at then may still count at now.
func (a Ask) stillCounts(w Window, then, now time.Time) bool {
	if w.Day() {
		return !then.Before(a.Midnights[a.day(now)].Add(-a.Grace))
	}
	return now.Before(then.Add(w.Length + a.Grace))
}
