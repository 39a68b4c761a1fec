package term

import "time"

// TimeOrNull is a time in a document: null where it is not known.
func TimeOrNull(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}

// RFC3339 is a time as text: "" where it is not known.
func RFC3339(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}
