//go:build race

package quotatest

// Raced reports whether the race detector is on, which takes its time: timed work may take longer, and a backend may
// repeat its frequent work less often.
const Raced = true
