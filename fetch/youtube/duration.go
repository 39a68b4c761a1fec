package youtube

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// parseDuration reads an ISO 8601 duration of weeks, days, hours, minutes and seconds; a fraction
// of a second is dropped. YouTube writes "PT15M51S", "P1DT2H" and, for what has not ended yet,
// "P0D". Years and months have no fixed length and are refused, as is what overflows.
func parseDuration(s string) (time.Duration, error) {
	rest, ok := strings.CutPrefix(s, "P")
	date, clock, hasClock := strings.Cut(rest, "T")
	ok = ok && (date != "" || hasClock) && hasClock == (clock != "")
	total, ok1 := addUnits(0, date, "WD")
	total, ok2 := addUnits(total, clock, "HMS")
	if !ok || !ok1 || !ok2 {
		return 0, fmt.Errorf("duration %.40q is not ISO 8601, or too long", s)
	}
	return total, nil
}

// addUnits adds numbers, each with a unit, each unit at most once and in the order of units.
func addUnits(total time.Duration, s, units string) (time.Duration, bool) {
	for s != "" {
		after := strings.TrimLeft(s, "0123456789")
		n, err := strconv.ParseInt(s[:len(s)-len(after)], 10, 64)
		if err != nil || after == "" {
			return 0, false
		}
		if after[0] == '.' || after[0] == ',' {
			fraction := after[1:]
			after = strings.TrimLeft(fraction, "0123456789")
			if len(after) == len(fraction) || !strings.HasPrefix(after, "S") {
				return 0, false
			}
		}
		at := strings.IndexByte(units, after[0])
		if at < 0 {
			return 0, false
		}
		unit := lengthOf(after[0])
		if n > int64((math.MaxInt64-total)/unit) {
			return 0, false
		}
		total += time.Duration(n) * unit
		s, units = after[1:], units[at+1:]
	}
	return total, true
}

func lengthOf(unit byte) time.Duration {
	switch unit {
	case 'W':
		return 7 * 24 * time.Hour
	case 'D':
		return 24 * time.Hour
	case 'H':
		return time.Hour
	case 'M':
		return time.Minute
	}
	return time.Second
}
