//go:build !race

package quotatest

// Raced reports whether the race detector is on, which slows everything down: timed work may take longer, and a
// backend may repeat its frequent work less often.
const Raced = false
