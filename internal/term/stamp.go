package term

import (
	"fmt"
	"time"
)

// Stamp formats a time as screens show it: in UTC, to the second; "-" for the zero time.
func Stamp(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.UTC().Format("2006-01-02 15:04:05Z")
}

// StampFrom is Stamp for the earliest time at which something can be done: it rounds up, so that the time shown is
// never too early.
func StampFrom(t time.Time) string {
	return Stamp(t.Add(time.Second - 1).Truncate(time.Second))
}

// Ago formats a span of time in its two largest units.
func Ago(d time.Duration) string {
	switch {
	case d < time.Minute:
		return d.Round(time.Second).String()
	case d < time.Hour:
		return fmt.Sprintf("%d min", d/time.Minute)
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h %d min", d/time.Hour, d%time.Hour/time.Minute)
	}
	return Plural(int(d/(24*time.Hour)), "day")
}

// Day formats a time as briefly as possible: without its hours at midnight.
func Day(t time.Time) string {
	if t.Equal(t.Truncate(24 * time.Hour)) {
		return t.UTC().Format(time.DateOnly)
	}
	return Stamp(t)
}
