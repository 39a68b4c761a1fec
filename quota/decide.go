package quota

import (
	"fmt"
	"math"
	"time"

	"github.com/trendvidstream/ingest/quota/internal/protocol"
)

// PoolFacts has a ledger's facts about one pool of an ask, for Decide. Lookups returns the questions that Windows
// answers. Times are in microseconds since 1970.
type PoolFacts struct {
	Total   int64         // the sum of all entries ever written, including entries that the ledger has forgotten
	Entries int64         // a lower bound of the number of entries ever written; it never falls
	Drain   Drain         // the pool's last drain, even if it is over
	Windows []WindowFacts // in the order of the charge's bounds
}

// WindowFacts is the pool's answer to one Lookup.
type WindowFacts struct {
	Before int64 // the sum of all entries older than Lookup.Start
	First  int64 // the time of the first entry above 0 at Lookup.Start or later; 0 if there is none
	// If Lookup.Refuses returns true, the ledger adds Leaves (sliding window) or NextStart (day).
	Leaves    int64 // the time of the entry that first takes the running sum to Lookup.Needs
	NextStart int64 // the sum of all entries older than Lookup.Next
}

// Lookup is a question to a ledger's log, for one bound of a charge.
type Lookup struct {
	Start int64 // the window counts entries at this time or later
	Next  int64 // the start of the next day; 0 for a sliding window
	room  int64 // the amount fits while at most this much is used
}

// Lookups returns the questions to a ledger's log for a charge at now, one for each of the charge's bounds, in their
// order. a.Check(now) must have passed.
//
// A sliding window of length W under grace G counts an entry of time t while now < t + W + G. A day starts G before
// the provider's midnight, since a call taken so close to midnight may arrive before or after it. The day lasts until G
// after the next midnight, since our clock may be ahead by up to G.
func (a Ask) Lookups(c Charge, now time.Time) []Lookup {
	today := a.day(now)
	out := make([]Lookup, len(c.Bounds))
	for i, b := range c.Bounds {
		l := Lookup{room: b.Ceiling - c.Amount}
		if c.Amount == 0 {
			l.room = math.MaxInt64 // a peek is never refused
		}
		if b.Window.Day() {
			l.Start = a.Midnights[today].Add(-a.Grace).UnixMicro()
			l.Next = a.Midnights[today+1].Add(-a.Grace).UnixMicro()
		} else {
			l.Start = now.Add(-b.Window.Length-a.Grace).UnixMicro() + 1
		}
		out[i] = l
	}
	return out
}

// Refuses reports whether the window has no room for the amount. WindowFacts then needs one more fact.
func (l Lookup) Refuses(total, before int64) bool { return total-before > l.room }

// Needs returns the running sum of the entries that must leave a sliding window before the amount fits.
func (l Lookup) Needs(total int64) int64 { return total - l.room }

// Decide decides whether the charges are allowed at now, the time that a.Advance returned. Every ledger calls it, with
// facts in the order of the charges. Decide writes nothing: the ledger appends each PoolState.Charged above 0.
// ErrCorrupt means that no log could have these facts.
func (a Ask) Decide(clock, now time.Time, facts []PoolFacts) (Decision, error) {
	d := Decision{Allowed: true, At: now, Who: a.Who, Pools: make([]PoolState, len(a.Charges))}
	var frees time.Time // when the last refusing window has room
	for i, c := range a.Charges {
		pool, refusal, at, err := decidePool(a, c, now, facts[i])
		if err != nil {
			return Decision{}, err
		}
		d.Pools[i] = pool
		if refusal != nil && (d.Refusal == nil || at.After(frees)) {
			d.Refusal, frees = refusal, at
		}
	}
	if d.Refusal != nil {
		d.refuse(clock, frees)
		return d, nil
	}
	for i, c := range a.Charges {
		if !a.Peek {
			d.Pools[i].charge(c.Amount, now, a.Grace)
		}
	}
	return d, nil
}

// refuse turns the decision into a refusal until frees. RetryAfter counts from clock, which may be earlier than d.At.
func (d *Decision) refuse(clock, frees time.Time) {
	d.Allowed = false
	d.RetryAfter, d.RetryAt = ceilMillis(frees.Sub(clock)), frees
}

// charge deducts the amount from the remaining amount. If the window was empty, the charge is now its oldest entry.
func (p *PoolState) charge(amount int64, now time.Time, grace time.Duration) {
	p.Charged = amount
	p.Remaining -= amount
	for i := range p.Windows {
		w := &p.Windows[i]
		w.Used += amount
		if w.Used > 0 && w.FreesAt.IsZero() {
			w.FreesAt = now.Add(w.Window.Length + grace)
		}
	}
}

func decidePool(a Ask, c Charge, now time.Time, facts PoolFacts) (PoolState, *Refusal, time.Time, error) {
	state := PoolState{Pool: c.Pool, Entries: facts.Entries, Windows: make([]WindowState, len(c.Bounds))}
	var refusal *Refusal
	var frees time.Time
	roomIn := ""
	for i, l := range a.Lookups(c, now) {
		b := c.Bounds[i]
		w, at, err := decideWindow(a, b, l, now, facts.Total, facts.Windows[i])
		if err != nil {
			return PoolState{}, nil, time.Time{}, err
		}
		state.Windows[i] = w
		if free := max(b.Ceiling-w.Used, 0); i == 0 || free < state.Remaining {
			state.Remaining = free
		}
		switch {
		case at.IsZero():
			roomIn = b.Window.Name
		case refusal == nil || at.After(frees):
			refusal, frees = b.refusal(a, c.Pool, w.Used), at
		}
	}
	if refusal != nil {
		refusal.RoomIn = roomIn
	}
	state.LastDrain = facts.Drain
	if facts.Drain.Active(now) {
		state.Remaining, state.Drain = 0, facts.Drain
		if c.Amount > 0 && !frees.After(facts.Drain.Until) {
			refusal, frees = facts.Drain.refusal(c.Pool, c.Bounds[0]), facts.Drain.Until
		}
	}
	return state, refusal, frees, nil
}

// decideWindow returns the window's state and the time when the amount begins to fit; zero if it fits now.
func decideWindow(a Ask, b Bound, l Lookup, now time.Time, total int64, f WindowFacts) (WindowState, time.Time, error) {
	state := WindowState{Window: b.Window, Ceiling: b.Ceiling, Used: total - f.Before}
	if f.Before < 0 || state.Used < 0 {
		return state, time.Time{}, fmt.Errorf("%w: window %s has used %d, but the log has a total of %d", ErrCorrupt,
			b.Window.Name, state.Used, total)
	}
	refuses := l.Refuses(total, f.Before)
	if !b.Window.Day() {
		reach := b.Window.Length + a.Grace
		if state.Used > 0 {
			state.FreesAt = protocol.Time(f.First).Add(reach)
		}
		if !refuses {
			return state, time.Time{}, nil
		}
		if f.Leaves <= 0 {
			return state, time.Time{}, fmt.Errorf("%w: window %s is full, but has no entry that makes room by leaving",
				ErrCorrupt, b.Window.Name)
		}
		return state, protocol.Time(f.Leaves).Add(reach), nil
	}
	today := a.day(now)
	state.FreesAt = a.turns(today + 1)
	switch {
	case !refuses:
		return state, time.Time{}, nil
	case f.NextStart < 0 || f.NextStart > total:
		return state, time.Time{}, fmt.Errorf("%w: window %s: %d before its next day, but the log has a total of %d",
			ErrCorrupt, b.Window.Name, f.NextStart, total)
	case l.Refuses(total, f.NextStart): // takes within the grace count in both days
		return state, a.turns(today + 2), nil
	}
	return state, state.FreesAt, nil
}

// ceilMillis rounds up to whole milliseconds, at least one: retrying then is never too early.
func ceilMillis(d time.Duration) time.Duration {
	return max((d+time.Millisecond-1)/time.Millisecond*time.Millisecond, time.Millisecond)
}
