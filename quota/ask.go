package quota

import (
	"fmt"
	"slices"
	"sort"
	"time"

	"github.com/trendvidstream/ingest/quota/internal/protocol"
)

// Check refuses an ask with a bad account, no charge, a negative or overflowing amount, the same pool twice, a bound
// without a limit, a cost that can never fit, or midnights that do not surround t. Every backend calls it with its own
// clock first.
func (a Ask) Check(t time.Time) error {
	if err := CheckAccount(a.Account); err != nil {
		return err
	}
	if a.Grace < 0 || a.Horizon < 0 || a.Precision < 0 {
		return fmt.Errorf("%w: a grace of %v, a horizon of %v, a precision of %v: none may be negative",
			ErrUnknown, a.Grace, a.Horizon, a.Precision)
	}
	if n := len(a.Charges); n < 1 || n > protocol.MaxPools {
		return fmt.Errorf("%w: %d charges in one ask: use 1 to %d", ErrUnknown, n, protocol.MaxPools)
	}
	for i, c := range a.Charges {
		if c.Pool == "" || slices.ContainsFunc(a.Charges[:i], func(other Charge) bool { return other.Pool == c.Pool }) {
			return fmt.Errorf("%w: pool %q is empty or charged twice in one ask", ErrUnknown, c.Pool)
		}
		if err := c.check(); err != nil {
			return err
		}
		for _, b := range c.Bounds {
			if !b.Window.Day() {
				if a.Horizon < b.Window.Length+a.Grace {
					return fmt.Errorf("%w: a horizon of %v, shorter than window %s with its grace", ErrUnknown,
						a.Horizon, b.Window.Name)
				}
				continue
			}
			if i := a.day(t); i < 1 || i+2 >= len(a.Midnights) {
				return clocksApart("the ledger's clock says %s, outside the provider's days that the caller sent: "+
					"are the two clocks apart?", t)
			}
		}
	}
	return nil
}

func (c Charge) check() error {
	if c.Amount < 0 || c.Amount > MaxLimit {
		return fmt.Errorf("%w: a charge of %d on pool %s: amounts are 0..%d", ErrNeverFits, c.Amount, c.Pool, int64(MaxLimit))
	}
	if n := len(c.Bounds); n < 1 || n > protocol.MaxWindows {
		return fmt.Errorf("%w: pool %s has %d windows: use 1 to %d", ErrUnknown, c.Pool, n, protocol.MaxWindows)
	}
	for _, b := range c.Bounds {
		if b.Window.Length < 0 || b.Window.Length > protocol.MaxWindow {
			return fmt.Errorf("%w: pool %s: a window of %v: use up to %v, or 0 for the provider's day",
				ErrUnknown, c.Pool, b.Window.Length, protocol.MaxWindow)
		}
		if b.Window.Limit < 1 || b.Window.Limit > MaxLimit || b.Ceiling < 0 || b.Ceiling > b.Window.Limit {
			return fmt.Errorf("%w: pool %s, window %s: limit %d, ceiling %d", ErrUnknown, c.Pool,
				b.Window.Name, b.Window.Limit, b.Ceiling)
		}
		if c.Amount > b.Ceiling {
			return fmt.Errorf("%w: %d of pool %s: this purpose may use at most %d of the limit of %d in window %s: "+
				"raise the limit or the ceiling in the costs",
				ErrNeverFits, c.Amount, c.Pool, b.Ceiling, b.Window.Limit, b.Window.Name)
		}
	}
	return nil
}

// day returns the index of the midnight that began the day in force at t, or -1. A day stays in force until the grace
// after its end: a clock that is ahead by up to the grace still counts a take in the day when the call arrives.
func (a Ask) day(t time.Time) int {
	i := -1
	for i+1 < len(a.Midnights) && !a.turns(i+1).After(t) {
		i++
	}
	return i
}

// turns returns when the day that begins at a midnight comes into force.
func (a Ask) turns(midnight int) time.Time { return a.Midnights[midnight].Add(a.Grace) }

// ClockGap returns the largest gap between two clocks that the ask tolerates: Gap, at most MaxClockGap.
func (a Ask) ClockGap() time.Duration {
	if a.Gap > 0 {
		return min(a.Gap, MaxClockGap)
	}
	return MaxClockGap
}

// Advance returns the time that a backend decides by: its clock, or its newest entry if that is later, since a log
// must stay in order. newest is zero if there is no entry. It returns ErrUnavailable if the clock is behind that entry
// by more than ClockGap.
func (a Ask) Advance(clock, newest time.Time) (time.Time, error) {
	if gap := newest.Sub(clock); gap > a.ClockGap() && !newest.IsZero() {
		return clock, clocksApart("its clock says %s, %v before its newest entry: set the clock, or wait until %s",
			clock, gap.Round(time.Second), newest)
	}
	if newest.After(clock) {
		return newest, a.Check(newest)
	}
	return clock, a.Check(clock)
}

// CheckAccount refuses a name that is not 1..64 letters, digits, '.', '-' or '_', as it becomes part of keys and rows.
func CheckAccount(s string) error {
	if len(s) < 1 || len(s) > 64 {
		return fmt.Errorf("%w: account of %d characters: use 1 to 64", ErrUnknown, len(s))
	}
	for _, r := range s {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '.', r == '-', r == '_':
		default:
			return fmt.Errorf("%w: account %q: use letters, digits, '.', '-' and '_'", ErrUnknown, s)
		}
	}
	return nil
}

// Midnights returns the starts of the days around now in zone: three at or before it and three after, which leaves
// room for a ledger whose clock is still in the day before. Where clocks jump over midnight, the day begins at its
// first instant.
func Midnights(now time.Time, zone *time.Location) []time.Time {
	y, m, d := now.In(zone).Date()
	out := make([]time.Time, 0, 6)
	for i := -2; i <= 3; i++ {
		out = append(out, dayStart(y, m, d+i, zone))
	}
	return out
}

// dayStart returns the first instant of a calendar day. It searches between two noons because time.Date may answer
// with either of two instants for a midnight that the clocks skip or repeat.
func dayStart(y int, m time.Month, d int, zone *time.Location) time.Time {
	from := time.Date(y, m, d-1, 12, 0, 0, 0, zone)
	to := time.Date(y, m, d, 12, 0, 0, 0, zone)
	day := to.Day()
	seconds := sort.Search(int(to.Sub(from)/time.Second), func(i int) bool {
		return from.Add(time.Duration(i)*time.Second).Day() == day
	})
	return from.Add(time.Duration(seconds) * time.Second)
}
