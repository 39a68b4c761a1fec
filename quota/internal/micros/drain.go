package micros

import (
	"time"

	"github.com/trendvidstream/ingest/quota"
)

// PutDrain returns a drain in five numbers: until when, what was used, who closed the pool, when, and which probe asks.
func PutDrain(d quota.Drain) []int64 {
	return []int64{orZero(d.Until), d.Used, int64(d.By), orZero(d.At), int64(d.Probe)}
}

// ReadDrain returns what PutDrain was given.
func ReadDrain(next func() int64) quota.Drain {
	until, used, by, at, probe := next(), next(), next(), next(), next()
	d := quota.Drain{Used: used, By: quota.DrainedBy(by), Probe: int(probe)}
	if until > 0 {
		d.Until = quota.FromMicros(until)
	}
	if at > 0 {
		d.At = quota.FromMicros(at)
	}
	return d
}

// orZero returns a time in microseconds: 0 for none.
func orZero(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return min(max(t.UnixMicro(), 0), 1<<53)
}
