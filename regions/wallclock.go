package regions

import (
	"math"
	"time"
)

// A cron line names local times, and local clocks are sometimes put forward or back. Two rules:
//
// A line that names some hours of the day fires once for each local time that it names, at the first instant when
// the clock has reached that time: the end of the gap for a time that the clock skips, the first of two for a time
// that it shows twice. Times in one gap are one slot.
//
// A line that names every hour of the day (*, */1, 0-23) follows real time, as Vixie cron's wildcard lines do: it
// fires whenever the clock shows a minute that it names. Unlike in Vixie cron, */2 hours names twelve hours here:
// otherwise the tick of 02:00 would be lost when the clock goes from 02:00 to 03:00, and 0 */6 * * * in Havana would
// once a year be silent for eleven hours.

// wall is a local clock's reading, in seconds as if it showed UTC: 0 is 1970-01-01 00:00.
type wall int64

// Instants are seconds since 1970. These two stand for no beginning and no end.
const (
	everBefore = math.MinInt64 / 2
	everAfter  = math.MaxInt64 / 2
)

// maxOffset is more than any zone's offset from UTC.
const maxOffset = daySeconds

// next returns the first instant after t when the line fires.
func (l *cronLine) next(t int64) int64 {
	if !l.everyHour {
		return firstAt(l.zone, l.firstAfter(highestReading(l.zone, t)))
	}
	for from := t + 1; ; {
		offset, _, end := offsetSpan(l.zone, from)
		if at := int64(l.firstAfter(wall(from+offset-1))) - offset; at < end {
			return at
		}
		from = end
	}
}

// latest returns the last instant, not after t, when the line fired.
func (l *cronLine) latest(t int64) int64 {
	if !l.everyHour {
		return firstAt(l.zone, l.lastUpTo(highestReading(l.zone, t)))
	}
	for to := t; ; {
		offset, start, _ := offsetSpan(l.zone, to)
		if at := int64(l.lastUpTo(wall(to+offset))) - offset; at >= start {
			return at
		}
		to = start - 1
	}
}

// highestReading returns the latest local time that the zone's clocks have shown up to t; after clocks were put back,
// that is the time before.
func highestReading(zone *time.Location, t int64) wall {
	offset, start, _ := offsetSpan(zone, t)
	high := t + offset
	for start > t-2*maxOffset {
		last := start - 1
		offset, start, _ = offsetSpan(zone, last)
		high = max(high, last+offset)
	}
	return wall(high)
}

// firstAt returns the first instant when the zone's clocks show w or later.
func firstAt(zone *time.Location, w wall) int64 {
	for t := int64(w) - maxOffset; ; {
		offset, _, end := offsetSpan(zone, t)
		if at := max(t, int64(w)-offset); at < end {
			return at
		}
		t = end
	}
}

// offsetSpan returns the zone's offset from UTC at t, in seconds, and a span with that offset: start <= t < end.
//
// On 31 December of a leap year Go 1.26 returns an end in the past, the beginning of that day, instead of the end of
// the year (golang/go#81583). The end is then the next midnight in UTC.
func offsetSpan(zone *time.Location, t int64) (offset, start, end int64) {
	at := time.Unix(t, 0).In(zone)
	_, seconds := at.Zone()
	from, to := at.ZoneBounds()
	start, end = everBefore, everAfter
	if !from.IsZero() {
		start = from.Unix()
	}
	if !to.IsZero() {
		end = to.Unix()
	}
	if end <= t {
		end = (t/daySeconds + 1) * daySeconds
	}
	return int64(seconds), start, end
}
