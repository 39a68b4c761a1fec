package budget

import (
	"time"

	"github.com/trendvidstream/ingest/quota"
)

// IdleHours are the hours of the provider's day when nothing runs, as on a laptop that sleeps at night: bit n is hour
// n. The rest is spread over the other hours.
type IdleHours uint32

// idleDays is on how many days in a row nothing must have run in an hour, and idleStretch how many such hours in a row
// count: a timer that fires every few hours leaves gaps, too.
const idleDays, idleStretch = 3, 4

// idle returns the hours when nothing ran on the last days, nor today.
func (h OthersHistory) idle(t *quota.Tariff, today time.Time) (idle IdleHours) {
	for _, pool := range t.Pools { // runs note the same hours of all pools
		days := h[pool.Name]
		if len(days) == 0 {
			continue
		}
		ran := uint32(0)
		for n := range idleDays + 1 {
			d := ago(days, today, n)
			if n > 0 && (d == nil || d.Ran == 0 || d == &days[0]) { // the first day was seen in part only
				return 0
			}
			if d != nil {
				ran |= d.Ran
			}
		}
		return stretches(^ran & (1<<24 - 1))
	}
	return 0
}

// stretches keeps the hours that are in a row of idleStretch or more, around midnight too.
func stretches(hours uint32) (long IdleHours) {
	around := uint64(hours) | uint64(hours)<<24
	row := around
	for n := 1; n < idleStretch; n++ {
		row &= around >> n // bit n: a long row begins there
	}
	for n := range idleStretch {
		long |= IdleHours(row<<n|row<<n>>24) & (1<<24 - 1)
	}
	return long
}

// hour returns whether the hour of a time is idle, and when it ends.
func (i IdleHours) hour(t time.Time, zone *time.Location) (idle bool, ends time.Time) {
	begins, _ := providerDay(t, zone)
	n := t.Sub(begins) / time.Hour
	return i&(1<<n) != 0, begins.Add((n + 1) * time.Hour)
}

// awake returns the time between two times that is not idle.
func (i IdleHours) awake(from, to time.Time, zone *time.Location) time.Duration {
	if i == 0 {
		return to.Sub(from)
	}
	sum := time.Duration(0)
	for from.Before(to) {
		idle, ends := i.hour(from, zone)
		if ends.After(to) {
			ends = to
		}
		if !idle {
			sum += ends.Sub(from)
		}
		from = ends
	}
	return sum
}

// wakes returns a time, or when the idle hours around it end.
func (i IdleHours) wakes(t time.Time, zone *time.Location) time.Time {
	for i != 0 {
		idle, ends := i.hour(t, zone)
		if !idle {
			break
		}
		t = ends
	}
	return t
}

// next returns when the next idle hours after a time begin and end; zero if there are none.
func (i IdleHours) next(t time.Time, zone *time.Location) (begins, ends time.Time) {
	for at, until := t, t.Add(day); i != 0 && at.Before(until); {
		idle, hourEnds := i.hour(at, zone)
		if idle && at.After(t) {
			return at, i.wakes(at, zone)
		}
		at = hourEnds
	}
	return begins, ends
}
