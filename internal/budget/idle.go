package budget

import (
	"time"

	"github.com/trendvidstream/ingest/quota"
)

// IdleHours are the hours of the machine's day when nothing runs, as on a laptop that sleeps at night: bit n is hour n
// of time.Local, which changes to winter time with its user. The rest is spread over the other hours.
type IdleHours uint32

// idleDays is on how many days in a row an hour must have had no run, and idleStretch how many such hours in a row
// count as idle: a timer that fires every few hours leaves gaps, too.
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
			for hour := 0; d != nil && d.Ran>>hour != 0; hour++ {
				if begins := d.Begins.Add(time.Duration(hour) * time.Hour).Local(); d.Ran&(1<<hour) != 0 {
					ran |= 1<<begins.Hour() | 1<<begins.Add(time.Hour-1).Hour() // some zones are half an hour off
				}
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
func (i IdleHours) hour(t time.Time) (idle bool, ends time.Time) {
	passed := time.Duration(t.Local().Minute())*time.Minute + t.Sub(t.Truncate(time.Minute))
	return i&(1<<t.Local().Hour()) != 0, t.Add(time.Hour - passed).UTC()
}

// awake returns the time between two times that is not idle.
func (i IdleHours) awake(from, to time.Time) time.Duration {
	if i == 0 {
		return to.Sub(from)
	}
	sum := time.Duration(0)
	for from.Before(to) {
		idle, ends := i.hour(from)
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

// wakes returns the first time, not before t, that is not idle.
func (i IdleHours) wakes(t time.Time) time.Time {
	for i != 0 {
		idle, ends := i.hour(t)
		if !idle {
			break
		}
		t = ends
	}
	return t
}

// next returns when the next idle hours after a time begin and end; zero if there are none.
func (i IdleHours) next(t time.Time) (begins, ends time.Time) {
	for at, until := t, t.Add(day); i != 0 && at.Before(until); {
		idle, hourEnds := i.hour(at)
		if idle && at.After(t) {
			return at, i.wakes(at)
		}
		at = hourEnds
	}
	return begins, ends
}
