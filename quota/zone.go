package quota

import (
	"slices"
	"time"

	"github.com/trendvidstream/ingest/quota/internal/protocol"
)

// CountOn returns the tariff for counting an account's day after the last change of its zone, and that change: it
// happens now if c has another zone than t.
func (t *Tariff) CountOn(c protocol.ZoneChange, now time.Time) (*Tariff, protocol.ZoneChange) {
	on := *t
	if was, err := time.LoadLocation(c.Zone); c.Zone != "" && c.Zone != t.Zone.String() && err == nil {
		before := *t
		before.Zone, before.change = was, c
		begins, ends := before.dayOf(now)
		began, _ := t.dayOf(now)
		if began.Before(begins) {
			begins = began
		}
		if _, next := t.dayOf(ends.Add(t.Grace)); next.After(ends) && !isMidnight(ends, t.Zone) {
			ends = next
		}
		c.Begins, c.Ends = begins.UTC(), ends.UTC()
	}
	c.Zone, on.change = t.Zone.String(), c
	return &on, c
}

// isMidnight reports whether a day of the zone begins at a time.
func isMidnight(at time.Time, zone *time.Location) bool {
	return slices.ContainsFunc(Midnights(at, zone), at.Equal)
}

// midnights returns the starts of the days around now. The long day of a change of the zone is one of them.
func (t *Tariff) midnights(now time.Time) []time.Time {
	days, long := Midnights(now, t.Zone), t.change
	if now.After(long.Ends.Add(2 * MinHorizon)) {
		return days
	}
	days = slices.Concat(Midnights(long.Begins, t.Zone), days, Midnights(long.Ends, t.Zone))
	days = slices.DeleteFunc(days, func(d time.Time) bool { return d.After(long.Begins) && d.Before(long.Ends) })
	days = append(days, long.Begins, long.Ends)
	slices.SortFunc(days, time.Time.Compare)
	return slices.CompactFunc(days, time.Time.Equal)
}
