package term

import "time"

// Times in documents are in UTC and whole seconds, so that all of them have as many digits.

// Second returns a time as a document has it. Times of what has happened are rounded down.
func Second(t time.Time) time.Time { return t.UTC().Truncate(time.Second) }

// TimeOrNull is Second of a time; null if it is not known.
func TimeOrNull(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = Second(t)
	return &t
}

// FromOrNull is TimeOrNull of the earliest time at which something can be done: it is rounded up, so that it is never too
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
