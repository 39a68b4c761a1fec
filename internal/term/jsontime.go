package term

import "time"

// Times in documents are in UTC and whole seconds, so that all of them have as many digits.

// Second is a time as a document has it. What has happened is rounded down.
func Second(t time.Time) time.Time { return t.UTC().Truncate(time.Second) }

// TimeOrNull is Second of a time that may not be known: null then.
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

// RFC3339 is a time as text: "" where it is not known.
func RFC3339(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}
