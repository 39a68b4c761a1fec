package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// timeFlag reads a flag that takes a time: how long before now, a day in UTC, or RFC 3339. "" is the zero
// time.
func timeFlag(flag, s string, now time.Time) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	if days, ok := strings.CutSuffix(s, "d"); ok {
		if n, err := strconv.ParseUint(days, 10, 16); err == nil && n > 0 {
			return now.AddDate(0, 0, -int(n)), nil
		}
	}
	if d, err := time.ParseDuration(s); err == nil && d > 0 {
		return now.Add(-d), nil
	}
	for _, form := range []string{time.DateOnly, time.RFC3339} {
		if t, err := time.Parse(form, s); err == nil {
			return t.UTC(), nil
		}
	}
	return time.Time{}, usageError{fmt.Errorf("--%s %q: use a time ago such as 24h or 7d, a day such as 2026-11-01, or an RFC 3339 time such as 2026-11-01T09:00:00Z",
		flag, s)}
}
