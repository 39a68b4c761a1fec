// Package micros says what an ask says in microseconds, for the ledgers whose servers count in them.
package micros

import (
	"time"

	"github.com/trendvidstream/ingest/quota"
)

// Asked returns the caller's clock: 0 for none.
func Asked(a quota.Ask) int64 {
	if a.Now.IsZero() {
		return 0
	}
	return max(a.Now.UnixMicro(), 1)
}

// Horizon returns the ask's horizon or, if that is longer, the reach of its own windows: what counts is never dropped.
func Horizon(a quota.Ask) int64 {
	h := max(a.Horizon, 0)
	for _, c := range a.Charges {
		for _, b := range c.Bounds {
			h = max(h, b.Window.Length+a.Grace)
		}
	}
	return Of(h)
}

// Of rounds up: what has not quite left a window still counts.
func Of(d time.Duration) int64 {
	return int64((d + time.Microsecond - 1) / time.Microsecond)
}

// Steps returns how long a step of the ask's precision is, 0 for none, and what to add to a time so that its steps
// begin where time.Time.Truncate has them begin: in year 1.
func Steps(a quota.Ask) (length, offset int64) {
	length = max(a.Precision.Microseconds(), 0)
	if length == 0 {
		return 0, 0
	}
	const sinceYear1 = 62_135_596_800_000_000 // of 1970
	return length, sinceYear1 % length
}
