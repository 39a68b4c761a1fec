package budget

import (
	"slices"
	"time"

	"github.com/trendvidstream/ingest/quota"
)

// room is the amount of a pool that a purpose may draw at a time: the amount left now, plus the returns by then, less
// the needs before. The pace, the forecast and a backfill's outlook are all made of it. It is asked in the order of
// time.
type room struct {
	closed  time.Time // nothing may be drawn before
	windows []windowRoom
}

type windowRoom struct {
	left    int64 // at the time of the last question; negative if more is used than the purpose may use
	length  time.Duration
	returns []quota.Return // still to come
	drawn   []quota.Return // the drawn amounts, with the times of their return
}

// newRoom returns the room of a pool that a report describes. left returns the amount left now in a window. Units that
// a window counts beyond its known returns come back after a whole length of the window.
func newRoom(p quota.PoolReport, left func(quota.WindowState) int64, grace time.Duration, now time.Time) *room {
	r := &room{closed: p.DrainedUntil}
	for _, w := range p.Windows {
		line := windowRoom{left: left(w), returns: w.Returns}
		if !w.Window.Day() {
			line.length = w.Window.Length + grace
			rest := w.Used
			for _, back := range w.Returns {
				rest -= back.Amount
			}
			if rest > 0 {
				line.returns = append(slices.Clip(line.returns), quota.Return{At: now.Add(line.length), Amount: rest})
			}
		}
		r.windows = append(r.windows, line)
	}
	return r
}

// at returns the amount that may be drawn at t; it is negative if more is used than the purpose may use. A pool that a
// report does not have, nil, is not counted.
func (r *room) at(t time.Time) int64 {
	least := int64(quota.MaxLimit)
	if r == nil {
		return least
	}
	for i := range r.windows {
		w := &r.windows[i]
		w.left += back(&w.returns, t) + back(&w.drawn, t)
		least = min(least, w.left)
	}
	if r.closed.After(t) {
		return min(least, 0)
	}
	return least
}

// pays reports whether the amount may be drawn at t, or so soon afterwards that no chart is late.
func (r *room) pays(amount int64, t time.Time) bool {
	if r.at(t) >= amount {
		return true
	}
	at := r.from(amount, t)
	return !at.IsZero() && at.Sub(t) <= delayed
}

// back removes the amounts from a list that have come back by t, and returns their sum.
func back(list *[]quota.Return, t time.Time) (n int64) {
	for len(*list) > 0 && !(*list)[0].At.After(t) {
		n += (*list)[0].Amount
		*list = (*list)[1:]
	}
	return n
}

// draw draws an amount at the time of the last question, t. A day that ends gives back the amounts drawn in it.
func (r *room) draw(amount int64, t time.Time) {
	if r == nil {
		return
	}
	for i := range r.windows {
		w := &r.windows[i]
		w.left -= amount
		switch {
		case w.length > 0:
			w.drawn = append(w.drawn, quota.Return{At: t.Add(w.length), Amount: amount})
		case len(w.returns) > 0:
			w.drawn = append(w.drawn, quota.Return{At: w.returns[0].At, Amount: amount})
		}
	}
}

// from returns the first time, not before t, at which the amount may be drawn if nothing else is; zero if the known
// returns are too few. A pool that a report does not have is always open.
func (r *room) from(amount int64, t time.Time) time.Time {
	if r == nil {
		return t
	}
	at := latest(t, r.closed)
	for _, w := range r.windows {
		_, comes, lacks := w.comes(amount)
		if lacks > 0 {
			return time.Time{}
		}
		at = latest(at, comes)
	}
	return at
}

// comes returns the time of the return that makes the amount available, zero if it is available now, and the time of
// the return before that one. If all known returns leave less, before is the last of them, and lacks the missing
// amount.
func (w windowRoom) comes(amount int64) (before, at time.Time, lacks int64) {
	if w.left >= amount {
		return before, at, 0
	}
	all := slices.Concat(w.returns, w.drawn)
	slices.SortStableFunc(all, func(a, b quota.Return) int { return a.At.Compare(b.At) })
	left := w.left
	for _, r := range all {
		if left += r.Amount; left >= amount {
			return before, r.At, 0
		}
		before = r.At
	}
	return before, at, amount - left
}
