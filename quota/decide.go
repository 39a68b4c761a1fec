package quota

import (
	"fmt"
	"time"
)

// Log is one pool's entries as Decide reads them: times in microseconds since 1970, amounts
// cumulative, so that what a window has used is one subtraction and one log answers every window.
type Log interface {
	// Total is the sum of all entries ever written, those forgotten since included.
	Total() int64
	// Before is the sum of all entries older than t, and the time of the first that is not: 0 when
	// there is none.
	Before(t int64) (sum, first int64, err error)
	// Reaching is the time of the first entry with which the sum, its own amount included, is at
	// least c. Decide knows that it is not older than from.
	Reaching(c, from int64) (int64, error)
}

// PoolLog is a pool's log with the provider's word about it.
type PoolLog struct {
	Log          Log
	DrainedUntil time.Time
	DrainedUsed  int64
}

// Decide is the ledgers' one decision in Go: what the charges of a may do at now, given the logs of
// their pools in the same order. It writes nothing; an allowed decision has Charged set, and the
// ledger appends it. a.Check has passed.
//
// A sliding window of length W under grace G counts an entry of time t while now < t + W + G. A day
// counts from G before the provider's midnight.
func Decide(a Ask, now time.Time, logs []PoolLog) (Decision, error) {
	d := Decision{Allowed: true, At: now, Who: a.Who, Pools: make([]PoolState, len(a.Charges))}
	var frees time.Time // when the last refusing window has room
	for i, c := range a.Charges {
		pool, refusal, at, err := decidePool(a, c, now, logs[i])
		if err != nil {
			return Decision{}, err
		}
		d.Pools[i] = pool
		if refusal != nil && (d.Refusal == nil || at.After(frees)) {
			d.Refusal, frees = refusal, at
		}
	}
	if d.Refusal != nil {
		d.Allowed = false
		d.RetryAfter = ceilMillis(frees.Sub(now))
		return d, nil
	}
	for i, c := range a.Charges {
		d.Pools[i].charge(c.Amount, now, a.Grace)
	}
	return d, nil
}

// charge takes the amount off what remains. In a window that was empty it is the oldest entry.
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

func decidePool(a Ask, c Charge, now time.Time, log PoolLog) (PoolState, *Refusal, time.Time, error) {
	state := PoolState{Pool: c.Pool, Windows: make([]WindowState, len(c.Bounds))}
	var refusal *Refusal
	var frees time.Time
	roomIn := ""
	for i, b := range c.Bounds {
		w, at, err := decideWindow(a, c.Amount, b, now, log.Log)
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
			refusal, frees = &Refusal{Pool: c.Pool, Window: b.Window.Name, Used: w.Used, Ceiling: b.Ceiling, Limit: b.Window.Limit}, at
		}
	}
	if refusal != nil {
		refusal.RoomIn = roomIn
	}
	if !log.DrainedUntil.IsZero() {
		state.LastDrain, state.LastUsed = log.DrainedUntil, log.DrainedUsed
	}
	if log.DrainedUntil.After(now) {
		state.Remaining, state.DrainedUntil, state.DrainedUsed = 0, log.DrainedUntil, log.DrainedUsed
		if c.Amount > 0 && !frees.After(log.DrainedUntil) {
			b := c.Bounds[0]
			refusal = &Refusal{Pool: c.Pool, Window: DrainWindow, Used: log.DrainedUsed, Ceiling: b.Ceiling, Limit: b.Window.Limit}
			frees = log.DrainedUntil
		}
	}
	return state, refusal, frees, nil
}

// decideWindow returns the window's state and when the amount fits: the zero time when it does now.
func decideWindow(a Ask, amount int64, b Bound, now time.Time, log Log) (WindowState, time.Time, error) {
	state := WindowState{Window: b.Window, Ceiling: b.Ceiling}
	total := log.Total()
	if b.Window.Day() {
		return decideDay(a, amount, state, now, log)
	}
	reach := b.Window.Length + a.Grace
	start := Micros(now.Add(-reach)) + 1
	gone, oldest, err := log.Before(start)
	if err != nil {
		return state, time.Time{}, err
	}
	state.Used = total - gone
	if state.Used < 0 {
		return state, time.Time{}, fmt.Errorf("%w: window %s has %d used", ErrCorrupt, b.Window.Name, state.Used)
	}
	if state.Used > 0 {
		state.FreesAt = FromMicros(oldest).Add(reach)
	}
	if amount == 0 || state.Used+amount <= b.Ceiling {
		return state, time.Time{}, nil
	}
	last, err := log.Reaching(total+amount-b.Ceiling, start)
	if err != nil {
		return state, time.Time{}, err
	}
	return state, FromMicros(last).Add(reach), nil
}

func decideDay(a Ask, amount int64, state WindowState, now time.Time, log Log) (WindowState, time.Time, error) {
	today := a.today(now)
	next := a.Midnights[today+1]
	before, _, err := log.Before(Micros(a.Midnights[today].Add(-a.Grace)))
	if err != nil {
		return state, time.Time{}, err
	}
	state.Used = log.Total() - before
	if state.Used < 0 {
		return state, time.Time{}, fmt.Errorf("%w: window %s has %d used", ErrCorrupt, state.Window.Name, state.Used)
	}
	state.FreesAt = next
	if amount == 0 || state.Used+amount <= state.Ceiling {
		return state, time.Time{}, nil
	}
	// What was taken within the grace before the next midnight counts there as well.
	carried, _, err := log.Before(Micros(next.Add(-a.Grace)))
	if err != nil {
		return state, time.Time{}, err
	}
	if log.Total()-carried+amount <= state.Ceiling {
		return state, next, nil
	}
	return state, a.Midnights[today+2], nil
}

// Micros is a time as logs keep it: microseconds since 1970.
func Micros(t time.Time) int64 { return t.UnixMicro() }

// FromMicros is the inverse of Micros, in UTC.
func FromMicros(us int64) time.Time { return time.UnixMicro(us).UTC() }

// ceilMillis rounds up to whole milliseconds, at least one: retrying then is never too early.
func ceilMillis(d time.Duration) time.Duration {
	return max((d+time.Millisecond-1)/time.Millisecond*time.Millisecond, time.Millisecond)
}
