package quota

import (
	"math/rand/v2"
	"time"
)

// A provider sometimes says that a quota is spent which by our own count is not: one such answer in a thousand would
// close every day early. A no that comes while our count is far below the limit is therefore doubted. The pool is
// closed for minutes, and then one cheap call, a probe, asks again: for all hosts, since the doubt is kept with the
// drain in the ledger. An answer opens the pool; the last probe's no closes it until the provider's day turns, and so
// does any no that comes while our own count is near the limit.

// doubts are how long the pool stays closed before each probe.
var doubts = [Probes]time.Duration{5 * time.Minute, 15 * time.Minute, time.Hour}

// nearLimit is the part of a limit from which on a no is believed at once.
const nearLimit Share = 900_000

// doubted marks the end of a drain that is doubted with the probe that will follow it, from 1: in its microseconds,
// since every backend keeps those, and other drains end with a whole second.
func doubted(until time.Time, probe int) time.Time {
	return until.Truncate(time.Millisecond).Add(time.Duration(probe) * time.Microsecond)
}

// probeOf returns the probe that follows a drain until then; 0 if the drain is not doubted.
func probeOf(until time.Time) int {
	if us := until.Nanosecond() / 1000 % 1000; !until.IsZero() && us <= len(doubts) {
		return us
	}
	return 0
}

// doubt returns until when the provider's no closes a pool: for some minutes if it comes while our own count is far
// below the limit, and otherwise until midnight.
func doubt(p PoolState, today, now, midnight time.Time) time.Time {
	for _, w := range p.Windows {
		if w.Window.Day() && w.Used >= nearLimit.Of(w.Window.Limit) {
			return midnight
		}
	}
	probe := 0
	if p.LastDrain.After(today) {
		probe = probeOf(p.LastDrain)
	}
	if probe == len(doubts) {
		return midnight
	}
	wait := doubts[probe]
	wait += time.Duration((rand.Float64() - 0.5) / 2.5 * float64(wait)) //nolint:gosec // a fifth more or less, so that accounts do not ask together
	if !now.Add(wait).Before(midnight) {
		return midnight
	}
	return doubted(now.Add(wait), probe+1)
}
