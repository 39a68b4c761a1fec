// Package protocol has the names that package quota shares with its backends, and that callers need not know.
package protocol

import (
	"fmt"
	"time"
)

// Bounds of an ask, of costs.yaml and of stored values.
const (
	MinWindow  = 100 * time.Millisecond
	MaxWindow  = 32 * 24 * time.Hour
	MaxWindows = 255 // of one pool
	MaxPools   = 64  // of one table, and of one ask

	RefundWithin = 2 * time.Minute // a call leaves within seconds of its take, or never
)

const (
	// DrainWindow is the window that a refusal names when the provider itself said no, or a person closed the pool.
	DrainWindow = "drained"
	// PostMethod is the method recorded for amounts posted by hand.
	PostMethod = "post"
)

// Time converts a log's microseconds since 1970 to a time in UTC.
func Time(us int64) time.Time { return time.UnixMicro(us).UTC() }

// Part splits the time after since into parts of length every and returns the number, from 0, of the part with at; 0
// if every is 0. Times are in microseconds.
func Part(at, since int64, every time.Duration) int64 {
	if every <= 0 {
		return 0
	}
	return (at - since) / every.Microseconds()
}

// Sprintf is fmt.Sprintf that writes times among the arguments as RFC 3339, in UTC.
func Sprintf(format string, args ...any) string {
	for i, arg := range args {
		if t, ok := arg.(time.Time); ok {
			args[i] = t.UTC().Format(time.RFC3339)
		}
	}
	return fmt.Sprintf(format, args...)
}

// WaitingError is a quota.ErrUnavailable that ends by itself: at Until, if not before.
type WaitingError struct {
	Err   error
	Until time.Time
}

func (e *WaitingError) Error() string {
	return fmt.Sprintf("%v; it goes on at %s at the latest", e.Err, e.Until.UTC().Format(time.DateTime+"Z"))
}

func (e *WaitingError) Unwrap() error { return e.Err }
