package quota

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/trendvidstream/ingest/quota/internal/protocol"
)

// Report is the state of an account for a person, a page or a forecast. A Decision has only the pools of its call.
type Report struct {
	At       time.Time
	Account  string
	Degraded error // why the ledger cannot answer; nil if it can, and then Pools and Spent are set
	Pools    []PoolReport
	Spent    []Spent // within each pool's widest window, by pool, largest first

	// EmergencyLeft is the amount that the schedule may spend while the ledger cannot answer. It is set only then,
	// even if Report returns an error. If it is empty then, no call is possible.
	EmergencyLeft []EmergencyLeft
}

// PoolReport is one pool for all purposes: its use, whether and why it is closed, and when each purpose may go on.
type PoolReport struct {
	Pool         string
	Limit        int64 // the smallest of its windows' limits
	DrainedUntil time.Time
	Probe        int // the number of the next probe of a doubted refusal; 0: the refusal is not doubted
	// Drift is the units that the provider had counted and this ledger had not, at the last refusal: the limit less
	// StoppedAt, our count at the time. 0 if it never refused.
	Drift     int64
	StoppedAt int64
	// StoppedUntil is when that refusal ends or ended; zero if there was none.
	StoppedUntil time.Time
	// DrainedByHand is when a person closed the pool until DrainedUntil; zero if the provider said no.
	DrainedByHand time.Time
	// Unknown is when the pool was closed until DrainedUntil because its use is not known; zero if it was not.
	Unknown time.Time
	// ResetAt is when a person last reset the account, until the pool is next closed; zero if there was no reset.
	ResetAt   time.Time
	Windows   []WindowState
	Widest    string            // the window that reaches back furthest, for Report.Spent
	Remaining map[Purpose]int64 // without the amount that Governor.Reserve keeps for the schedule
	Ceilings  map[Purpose]int64
	// ResumesAt is when the ledger will admit the next call of a purpose that has no room now; exact if others spend
	// nothing. The call is Governor.Usual, or the cheapest that draws from the pool.
	ResumesAt map[Purpose]time.Time
}

// Report returns the state of every pool of the tariff. It peeks, and changes nothing.
func (g *Governor) Report(ctx context.Context) (Report, error) {
	r, err := g.report(ctx)
	if errors.Is(err, ErrUnavailable) || errors.Is(err, ErrCorrupt) {
		// The journal is a local file, so it is read even if the ledger has used up ctx. If it cannot be read, a take
		// would fail.
		r.EmergencyLeft, _ = g.EmergencyLeft(context.WithoutCancel(ctx))
		if waiting, ok := errors.AsType[*protocol.WaitingError](err); ok {
			for i := range r.EmergencyLeft {
				r.EmergencyLeft[i].ResumeBy(waiting.Until)
			}
		}
	}
	return r, err
}

func (g *Governor) report(ctx context.Context) (Report, error) {
	now := g.Now()
	r := Report{At: now, Account: g.Account}
	if err := g.Tariff.Check(); err != nil {
		return r, err
	}
	a := g.Tariff.ask(g.Account, now)
	a.Who = Who{Purpose: Manual}
	for _, p := range g.Tariff.Pools {
		a.Charges = append(a.Charges, p.charge(0, whole))
	}
	d, err := g.ledger().Take(ctx, a)
	if err != nil {
		return r, fmt.Errorf("read the ledger: %w", err)
	}
	r.At = d.At
	reserve := g.reserve(ctx, Client)
	spentSince := g.spentSince(ctx, d.At)
	for i, p := range g.Tariff.Pools {
		pool := g.Tariff.poolReport(p, d.Pools[i], reserve)
		start := int64(math.MaxInt64)
		for j, l := range a.Lookups(a.Charges[i], d.At) {
			if l.Start < start {
				start, pool.Widest = l.Start, pool.Windows[j].Window.Name
			}
			if pool.Windows[j].Returns, err = a.returns(pool.Windows[j], l, d.At, p.Name, spentSince); err != nil {
				break
			}
		}
		var spent []Spent
		if err == nil {
			spent, err = spentSince.sums(p.Name, start)
		}
		if err == nil {
			err = g.resume(ctx, a, p, &pool, reserve)
		}
		if err != nil {
			return Report{At: now, Account: g.Account}, fmt.Errorf("read the ledger: %w", err)
		}
		r.Spent, r.Pools = append(r.Spent, spent...), append(r.Pools, pool)
	}
	return r, nil
}

// returnSteps is the most steps of a window's returns.
const returnSteps = 100

// stepSince returns the length of the parts for a query of spends since a time. It is never shorter than a part of
// the window that begins then.
func stepSince(start int64, now time.Time) time.Duration {
	return max(now.Sub(protocol.Time(start)), returnSteps*time.Microsecond) / returnSteps
}

// returns gives the times when a window's counted units come back. A step comes back when its last moment leaves the
// window, so that no unit is expected early. Units taken within the grace of a midnight count in both days.
func (a Ask) returns(w WindowState, l Lookup, now time.Time, pool string, since spentSince) (all []Return, err error) {
	start := max(l.Start, l.Next)
	if w.Used == 0 {
		return nil, nil
	}
	if w.Window.Day() && now.Before(protocol.Time(l.Next)) {
		return []Return{{w.FreesAt, w.Used}}, nil
	}
	parts, err := since.parts(pool, start)
	if err != nil {
		return nil, err
	}
	if w.Window.Day() {
		both := int64(0)
		for _, s := range parts {
			both += s.Amount
		}
		both = min(both, w.Used) // more may have been spent meanwhile
		if all = []Return{{w.FreesAt, w.Used - both}}; both > 0 {
			all = append(all, Return{a.turns(a.day(now) + 2), both})
		}
		return all, nil
	}
	step, sums, left := stepSince(start, now), map[int64]int64{}, w.Used
	for _, s := range parts {
		sums[min(s.Part, returnSteps-1)] += s.Amount
	}
	for _, part := range slices.Sorted(maps.Keys(sums)) {
		amount := min(sums[part], left) // as above
		left -= amount
		if amount > 0 {
			all = append(all, Return{now.Add(time.Duration(part+1) * step), amount})
		}
	}
	if left > 0 { // units that the window counts but the list lacks
		all = append(all, Return{now.Add(now.Sub(protocol.Time(start))), left})
	}
	return all, nil
}

// spentSince gives the spends of a pool since a time, in microseconds since 1970, in parts of stepSince.
type spentSince func(start int64) ([]Spent, error)

// spentSince asks the ledger once per time, because that query is expensive and several pools' windows begin together.
func (g *Governor) spentSince(ctx context.Context, now time.Time) spentSince {
	known := map[int64][]Spent{}
	return func(start int64) (all []Spent, err error) {
		all, ok := known[start]
		if !ok {
			if all, err = g.ledger().Spent(ctx, g.Account, protocol.Time(start), stepSince(start, now)); err != nil {
				return nil, err
			}
			known[start] = all
		}
		return all, nil
	}
}

// parts returns the spends of a pool in each part.
func (since spentSince) parts(pool string, start int64) ([]Spent, error) {
	all, err := since(start)
	return slices.DeleteFunc(slices.Clone(all), func(s Spent) bool { return s.Pool != pool }), err
}

// sums returns the total spends of a pool.
func (since spentSince) sums(pool string, start int64) ([]Spent, error) {
	parts, err := since.parts(pool, start)
	amounts := map[Who]int64{}
	for _, s := range parts {
		amounts[s.Who] += s.Amount
	}
	sums := []Spent{}
	for who, amount := range amounts {
		sums = append(sums, Spent{Pool: pool, Who: who, Amount: amount})
	}
	slices.SortFunc(sums, Spent.Compare)
	return sums, err
}

// resume asks the ledger when each purpose without room for a call will have room.
func (g *Governor) resume(ctx context.Context, a Ask, p Pool, pool *PoolReport, reserve Reserve) error {
	amount := cmp.Or(g.Tariff.Methods[g.Usual][p.Name], g.Tariff.cheapest(p.Name))
	a.Peek = true
	for _, purpose := range Purposes() {
		if pool.Remaining[purpose] >= amount || pool.Ceilings[purpose] < amount {
			continue
		}
		c := p.charge(amount, g.Tariff.Ceilings[purpose])
		fits := !purpose.yields() || g.Tariff.leave(&c, purpose, reserve)
		a.Who, a.Charges = Who{Purpose: purpose}, []Charge{c}
		var d Decision
		var err error
		if fits {
			d, err = g.ledger().Take(ctx, a)
		} else {
			d, err = g.refuseReserved(ctx, a)
		}
		if err != nil {
			return err
		}
		if !d.Allowed { // else room appeared meanwhile
			pool.ResumesAt[purpose] = d.RetryAt
		}
	}
	return nil
}

func (t *Tariff) poolReport(p Pool, s PoolState, reserve Reserve) PoolReport {
	r := PoolReport{Pool: p.Name, Limit: p.Limit(), DrainedUntil: s.Drain.Until, Probe: s.Drain.Probe, Windows: s.Windows,
		Remaining: map[Purpose]int64{}, Ceilings: map[Purpose]int64{}, ResumesAt: map[Purpose]time.Time{}}
	switch last := s.LastDrain; {
	case last.Until.IsZero():
	case last.By == ByProvider:
		r.Drift, r.StoppedAt, r.StoppedUntil = max(r.Limit-last.Used, 0), last.Used, last.Until
	case last.By == ByReset:
		r.ResetAt = last.At
	case s.Drain.By == ByHand:
		r.DrainedByHand = s.Drain.At
	case s.Drain.By == ByUnknown:
		r.Unknown = s.Drain.At
	}
	for _, purpose := range Purposes() {
		kept := Reserve{}
		if purpose.yields() {
			kept = reserve
		}
		remaining, ceiling := t.Left(p.Name, s.Windows, purpose, kept), int64(MaxLimit)
		for _, w := range s.Windows {
			ceiling = min(ceiling, t.Ceilings[purpose].Of(w.Window.Limit))
		}
		if !s.Drain.Until.IsZero() {
			remaining = 0
		}
		r.Remaining[purpose], r.Ceilings[purpose] = remaining, ceiling
	}
	return r
}
