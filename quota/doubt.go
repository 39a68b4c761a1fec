package quota

import (
	"math/rand/v2"
	"time"
)

// A provider sometimes says that a quota is spent which by our own count is not: one such answer in a thousand would
// close every day early. A no that comes while our count is far below the limit is therefore doubted. The pool is
// closed for minutes, and then one cheap call, a probe, asks again: for all hosts, since the doubt is kept with the
// drain in the ledger. An answer opens the pool. Each no closes it for longer, at most for two hours, until the
// provider's day turns. A no that comes while our own count is near the limit is believed, and so is one near the
// count at which a no of the last days stood until its day turned: whoever took the rest then takes it again.

// doubts are how long the pool stays closed before each probe; the last before every further one.
var doubts = []time.Duration{5 * time.Minute, 15 * time.Minute, time.Hour, 2 * time.Hour}

// nearLimit is the part of a limit from which on a no is believed at once.
const nearLimit Share = 900_000

// remembered is for how long a no that stood makes the next one near the same count credible.
const remembered = 7 * 24 * time.Hour

// doubt returns how the provider's no closes a pool: for some minutes, until the next probe, if it comes while our own
// count is far below the limit, and otherwise until midnight.
func (t *Tariff) doubt(p PoolState, today, now, midnight time.Time) Drain {
	stands := Drain{Until: midnight}
	for _, w := range p.Windows {
		if w.Window.Day() && w.Used >= nearLimit.Of(w.Window.Limit) {
			return stands
		}
	}
	if t.stood(p.LastDrain, today) && p.LastDrain.Used/2 <= usedToday(p.Windows) && usedToday(p.Windows) <= 2*p.LastDrain.Used {
		return stands
	}
	probe := 0
	if p.LastDrain.Holds(today) {
		probe = p.LastDrain.Probe
	}
	wait := doubts[min(probe, len(doubts)-1)]
	wait += time.Duration((rand.Float64() - 0.5) / 2.5 * float64(wait)) //nolint:gosec // a fifth more or less, so that accounts do not ask together
	if !now.Add(wait).Before(midnight) {
		return stands
	}
	return Drain{Until: now.Add(wait).Truncate(time.Millisecond), Probe: probe + 1}
}

// stood reports whether a drain is the provider's no of one of the last days, and held until its midnight.
func (t *Tariff) stood(last Drain, today time.Time) bool {
	if last.By != ByProvider || last.Probe > 0 || last.Until.After(today) || last.Until.Before(today.Add(-remembered)) {
		return false
	}
	begins, _ := t.dayOf(last.Until)
	return begins.Equal(last.Until)
}
