package budget

import (
	"time"

	"github.com/trendvidstream/ingest/quota"
)

// supply is one window's part for the schedule.
type supply struct {
	span   time.Duration // that left is spread over
	whole  time.Duration // the window's length
	left   int64         // the schedule's allowance in span
	now    windowRoom    // its allowance now, and the returns
	budget int64         // its allowance in the whole window, including its use so far
	renews time.Time     // when the window next has more
	closed bool          // until renews, even if something is left
	spent  bool          // span began with the job's last slot, which is paid for
	ends   time.Time     // of span, if the window is the provider's day
}

// supplyOf returns a window's part for the schedule. The rest of a day is spread from the job's last slot to the end
// of the day. A sliding window has no end: the part that others leave of it is spread over its whole length, so that
// old slots leave it as fast as new ones come. Within the grace after a midnight the ledger still counts the old day,
// but the new one is planned.
func (s PricedSchedule) supplyOf(pool quota.PoolReport, w quota.WindowState, spent []quota.Spent,
	last, now time.Time) supply {
	ceiling := s.Tariff.Ceilings[quota.Scheduled].Of(w.Window.Limit)
	own := drawnFor(spent, quota.Scheduled)[pool.Pool]
	b := supply{now: windowRoom{left: max(0, ceiling-w.Used), returns: w.Returns}, renews: w.FreesAt}
	if pool.DrainedUntil.After(now) {
		b.now.left, b.renews, b.closed = 0, pool.DrainedUntil, true
	}
	used := w.Used
	if b.ends = w.FreesAt; w.Window.Day() && !now.Before(b.ends.Add(-s.Tariff.Grace)) {
		_, ends := providerDay(now, s.Tariff.Zone)
		if b.ends = ends.Add(s.Tariff.Grace); len(w.Returns) > 0 {
			used -= w.Returns[0].Amount
		}
	}
	b.budget = max(0, ceiling-max(0, used-own))
	if !w.Window.Day() {
		b.span, b.left = s.awake(now, now.Add(w.Window.Length+s.Tariff.Grace)), b.budget
		b.whole = b.span
		return b
	}
	b.whole = s.awake(now, now.Add(day))
	b.span, b.left, b.spent = s.awake(now, b.ends), max(0, ceiling-used), true // a drain may be lifted
	if !last.IsZero() && last.Before(now) && now.Sub(last) < day {
		b.span = s.awake(last, b.ends)
	}
	return b
}

// awake returns how much of the time between two times is planned for: at least a minute.
func (s PricedSchedule) awake(from, to time.Time) time.Duration {
	return max(s.Idle.awake(from, to), min(to.Sub(from), time.Minute))
}

// roomAt returns when the window has room for the units at once. Units that come back in a step come in the middle of
// it, up to nine minutes before the end of a step of a day's window. Units that the returns do not list are assumed to
// have been used by slots of that price, that gap apart.
func (b supply) roomAt(units, price int64, gap time.Duration) time.Time {
	if b.spent || b.closed {
		return b.renews
	}
	before, at, lacks := b.now.comes(units)
	switch {
	case lacks > 0:
		return latest(b.renews, before).Add(time.Duration((lacks-1)/price) * gap)
	case before.IsZero(): // the first return is enough
		return b.renews
	}
	return latest(before.Add(at.Sub(before)/2), at.Add(-b.whole/160))
}

// gap returns the time between slots of that price for a job with that share of the rest; the whole span if nothing
// is left.
func (b supply) gap(price int64, share float64) time.Duration {
	slots := max(0, b.left) / price
	if b.spent {
		slots++ // as many gaps as slots, and the one before the end
	}
	return b.spread(b.span, slots, share)
}

// wake sets aside the slots that are overdue at once when idle hours in the span end, instead of one after a gap. Slots
// at the end of the provider's day can wait until its grace has passed: they belong to the next day.
func (b *supply) wake(p *JobPace, grace time.Duration, price int64, share float64) {
	if p.Wakes.IsZero() || b.spent && !p.Wakes.Before(b.ends.Add(-grace)) {
		return
	}
	overdue := min(int64(p.Wakes.Sub(p.Sleeps)/max(b.gap(price, share), time.Second)), int64(len(p.Job.Series())))
	atOnce := max(0, overdue-1) * price
	b.left, b.budget = max(min(b.left, price), b.left-atOnce), max(min(b.budget, price), b.budget-atOnce)
}

// round returns the slot interval that staleness is judged by. While nothing is left, gap is the wait for the
// window's end instead of an interval: round is then the number of slots that the budget of a whole window pays for,
// or 0 if others have spent that too.
func (b supply) round(gap time.Duration, price int64, share float64) time.Duration {
	switch whole := b.budget / price; {
	case b.left >= price:
		return gap
	case whole > 0:
		return b.spread(b.whole, whole, share)
	default:
		return 0
	}
}

// spread returns the time between slots of a job that has that share of the slots in a span; the whole span if there
// are none.
func (b supply) spread(span time.Duration, slots int64, share float64) time.Duration {
	if slots == 0 {
		return b.span
	}
	return time.Duration(float64(span) / (float64(slots) * share))
}

// sustainableGap returns how far apart slots must be for the amount that may be used now to last until a sliding window
// has more; 0 if that does not matter. A schedule fills such a window on its first day, and retries fill it sooner than
// planned: without this gap all slots would then wait until the first ones leave the window, and again a day later.
// waited is the time since the last slot: the gap is the same at each moment before the next one.
func (b supply) sustainableGap(price, spare int64, share float64, until, waited time.Duration) time.Duration {
	slots := float64(max(0, b.now.left-spare)/price) * share
	if b.spent || slots == 0 || until <= 0 {
		return 0
	}
	gap := time.Duration(float64(until) / slots)
	if waited < gap {
		gap = time.Duration(float64(until+waited) / (slots + 1))
	}
	return gap
}
