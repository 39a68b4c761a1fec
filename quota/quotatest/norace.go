//go:build !race

package quotatest

// Raced says whether the race detector is on, which takes its time: what is timed may take longer,
// and a backend may do less of what it does often.
const Raced = false
