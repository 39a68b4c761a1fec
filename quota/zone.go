package quota

import (
	"slices"
	"time"
)

// CountOn returns the tariff for an account whose day was counted in a zone until now, and in t.LongDay at the last
// change before: if t has another zone, a long day spans both zones' days around now. zone is a name for
// time.LoadLocation; "" is none.
func (t *Tariff) CountOn(zone string, now time.Time) *Tariff {
	on := *t
	was, err := time.LoadLocation(zone)
	if err != nil || zone == "" || zone == t.Zone.String() {
		return &on
	}
	before := *t
	before.Zone = was
	begins, ends := before.dayOf(now)
	began, _ := t.dayOf(now)
	if began.Before(begins) {
		begins = began
	}
	if _, next := t.dayOf(ends.Add(t.Grace)); next.After(ends) && !isMidnight(ends, t.Zone) {
		ends = next
	}
	on.LongDay.Begins, on.LongDay.Ends = begins.UTC(), ends.UTC()
	return &on
}

// isMidnight reports whether a day of the zone begins at a time.
func isMidnight(at time.Time, zone *time.Location) bool {
	return slices.ContainsFunc(Midnights(at, zone), at.Equal)
}

// midnights returns the starts of the days around now. The long day of a change of the zone is one of them.
func (t *Tariff) midnights(now time.Time) []time.Time {
	days, long := Midnights(now, t.Zone), t.LongDay
	if now.After(long.Ends.Add(2 * MinHorizon)) {
		return days
	}
	days = slices.Concat(Midnights(long.Begins, t.Zone), days, Midnights(long.Ends, t.Zone))
	days = slices.DeleteFunc(days, func(d time.Time) bool { return d.After(long.Begins) && d.Before(long.Ends) })
	days = append(days, long.Begins, long.Ends)
	slices.SortFunc(days, time.Time.Compare)
	return slices.CompactFunc(days, time.Time.Equal)
}
