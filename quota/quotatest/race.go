//go:build race

package quotatest

// Raced reports whether the race detector is on, which takes its time: timed work may take longer,
// and a backend may do less of what it does often.
const Raced = true
