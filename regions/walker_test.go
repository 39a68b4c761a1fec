package regions_test

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// walker is a second opinion on a cron line and shares no code with the first: it reads the text of the five numeric
// fields, and walks through real time minute by minute, looking at the clock.
type walker struct {
	minute, hour, dom, month, dow [60]bool
	anyDay, everyHour             bool
	zone                          *time.Location
}

func newWalker(line string, zone *time.Location) *walker {
	f := strings.Fields(line)
	w := &walker{
		minute: numbers(f[0], 0, 59), hour: numbers(f[1], 0, 23), dom: numbers(f[2], 1, 31), month: numbers(f[3], 1, 12), dow: numbers(f[4], 0, 6),
		anyDay: f[2] != "*" && f[4] != "*", zone: zone,
	}
	w.everyHour = !slices.Contains(w.hour[:24], false)
	return w
}

// numbers reads a list of n, a-b, *, and each of them with a /step.
func numbers(field string, lowest, highest int) [60]bool {
	var set [60]bool
	for part := range strings.SplitSeq(field, ",") {
		values, stepText, stepped := strings.Cut(part, "/")
		from, to, step := lowest, highest, 1
		if stepped {
			step, _ = strconv.Atoi(stepText)
		}
		if values != "*" {
			low, high, span := strings.Cut(values, "-")
			from, _ = strconv.Atoi(low)
			switch {
			case span:
				to, _ = strconv.Atoi(high)
			case !stepped:
				to = from
			}
		}
		for n := from; n <= to; n += step {
			set[n] = true
		}
	}
	return set
}

// fires returns when the line fires after from and not after to.
func (w *walker) fires(from, to time.Time) []time.Time {
	var out []time.Time
	start := from.UTC().Truncate(time.Minute).Add(-50 * time.Hour) // clocks are put back by less
	shown := w.look(start)                                         // the latest time that the clock has shown
	for at := start.Add(time.Minute); !at.After(to); at = at.Add(time.Minute) {
		now := w.look(at)
		fire := false
		if w.everyHour {
			fire = w.names(now)
		} else {
			for ; shown.Before(now); shown = shown.Add(time.Minute) {
				fire = fire || w.names(shown.Add(time.Minute))
			}
		}
		if fire && at.After(from) {
			out = append(out, at)
		}
	}
	return out
}

// look returns the clock's reading at an instant, as if it showed UTC.
func (w *walker) look(at time.Time) time.Time {
	at = at.In(w.zone)
	y, m, d := at.Date()
	return time.Date(y, m, d, at.Hour(), at.Minute(), at.Second(), 0, time.UTC)
}

func (w *walker) names(t time.Time) bool {
	inMonth, inWeek := w.dom[t.Day()], w.dow[int(t.Weekday())]
	day := inMonth && inWeek
	if w.anyDay {
		day = inMonth || inWeek
	}
	return day && w.month[int(t.Month())] && w.hour[t.Hour()] && w.minute[t.Minute()]
}
