package youtube

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// iso8601 matches a duration, with a number for each of durationUnits. Years and months have no fixed length.
var iso8601 = regexp.MustCompile(`^P(?:(\d+)W)?(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)(?:[.,]\d+)?S)?)?$`)

var durationUnits = [...]time.Duration{7 * 24 * time.Hour, 24 * time.Hour, time.Hour, time.Minute, time.Second}

// parseDuration reads an ISO 8601 duration of weeks to seconds; a fraction of a second is dropped. YouTube writes
// "PT15M51S", "P1DT2H" and, for a video that has not ended yet, "P0D". An overflow is refused.
func parseDuration(s string) (total time.Duration, _ error) {
	numbers := iso8601.FindStringSubmatch(s)
	ok := numbers != nil && s != "P" && !strings.HasSuffix(s, "T")
	for i, unit := range durationUnits {
		if !ok || numbers[i+1] == "" {
			continue
		}
		n, err := strconv.ParseInt(numbers[i+1], 10, 64)
		ok = err == nil && n <= int64((math.MaxInt64-total)/unit)
		total += time.Duration(n) * unit
	}
	if !ok {
		return 0, fmt.Errorf("duration %.40q is not ISO 8601, or too long", s)
	}
	return total, nil
}
