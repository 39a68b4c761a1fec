package term

import (
	"fmt"
	"io"
	"os"
	"time"
)

// zone is the time zone of the screens: UTC, unless UseLocalTime has been called.
var zone = time.UTC

// UseLocalTime makes Stamp use the zone that TZ names, if it names one.
func UseLocalTime() {
	if os.Getenv("TZ") != "" {
		zone = time.Local
	}
}

// Stamp formats a time as screens show it: to the second, in UTC or with its offset; "-" for the zero time.
func Stamp(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.In(zone).Format("2006-01-02 15:04:05Z07:00")
}

// StampFrom is Stamp for the earliest time when something can be done. It rounds up, so that the shown time is
// never too early.
func StampFrom(t time.Time) string {
	return Stamp(t.Add(time.Second - 1).Truncate(time.Second))
}

// When is StampFrom, plus how long it is until then if w is a terminal.
func When(w io.Writer, t, now time.Time) string {
	if !IsTerminal(w) || !t.After(now) {
		return StampFrom(t)
	}
	return StampFrom(t) + " (in " + Ago(t.Sub(now)) + ")"
}

// Ago formats a duration in its two largest units.
func Ago(d time.Duration) string {
	switch {
	case d < time.Minute:
		return d.Round(time.Second).String()
	case d < time.Hour:
		return fmt.Sprintf("%d min", d/time.Minute)
	case d < 48*time.Hour && d%time.Hour < time.Minute:
		return fmt.Sprintf("%d h", d/time.Hour)
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h %d min", d/time.Hour, d%time.Hour/time.Minute)
	}
	return Plural(int(d/(24*time.Hour)), "day")
}

// Day formats a time as briefly as possible: without the hours at midnight.
func Day(t time.Time) string {
	if t.Equal(t.Truncate(24 * time.Hour)) {
		return t.UTC().Format(time.DateOnly)
	}
	return Stamp(t)
}

// Times in documents are in UTC and whole seconds, so that all have the same number of digits.

// Second converts a time to a document's form. Past times are rounded down.
func Second(t time.Time) time.Time { return t.UTC().Truncate(time.Second) }

// TimeOrNull is Second of a time; null if it is not known.
func TimeOrNull(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return new(Second(t))
}

// FromOrNull is TimeOrNull for the earliest time when something can be done. It rounds up, so that it is never too
// early.
func FromOrNull(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return TimeOrNull(t.Add(time.Second - 1))
}

// RFC3339 formats a time; "" if it is not known.
func RFC3339(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}
