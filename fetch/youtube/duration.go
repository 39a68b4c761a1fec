package youtube

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"
)

var durationForm = regexp.MustCompile(`^P(?:(\d+)W)?(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)(?:[.,]\d+)?S)?)?$`)

var durationUnits = [...]time.Duration{7 * 24 * time.Hour, 24 * time.Hour, time.Hour, time.Minute, time.Second}

// parseDuration reads an ISO 8601 duration of weeks, days, hours, minutes and seconds; a fraction
// of a second is dropped. YouTube writes "PT15M51S", "P1DT2H" and, for what has not ended yet,
// "P0D". Years and months have no fixed length and are refused, as is what overflows.
func parseDuration(s string) (time.Duration, error) {
	m := durationForm.FindStringSubmatch(s)
	if m == nil || s == "P" || strings.HasSuffix(s, "T") {
		return 0, fmt.Errorf("duration %.40q is not ISO 8601", s)
	}
	var total time.Duration
	for i, digits := range m[1:] {
		if digits == "" {
			continue
		}
		n, err := strconv.ParseInt(digits, 10, 64)
		if err != nil || n > int64((math.MaxInt64-total)/durationUnits[i]) {
			return 0, fmt.Errorf("duration %.40q is too long", s)
		}
		total += time.Duration(n) * durationUnits[i]
	}
	return total, nil
}
