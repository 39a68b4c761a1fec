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

// PackDrain puts a drain into the two numbers that servers keep of it so far: until when, with the probe in its
// microseconds, and what was used, or MaxLimit and the second at which a person acted.
func PackDrain(d quota.Drain) (until, used int64) {
	if d.Until.IsZero() {
		return 0, 0
	}
	until, used = d.Until.UnixMicro(), d.Used
	if d.Probe > 0 {
		until = d.Until.Truncate(time.Millisecond).UnixMicro() + int64(d.Probe)
	}
	if d.By != quota.ByProvider {
		used = quota.MaxLimit + d.At.Unix()
	}
	return until, used
}

// UnpackDrain returns what PackDrain was given.
func UnpackDrain(until, used int64) quota.Drain {
	if until <= 0 {
		return quota.Drain{}
	}
	d := quota.Drain{Until: quota.FromMicros(until), Used: used}
	if probe := int(until % 1000); probe <= quota.Probes {
		d.Probe, d.Until = probe, d.Until.Truncate(time.Millisecond)
	}
	if used > quota.MaxLimit {
		d.Used, d.By, d.At = 0, quota.ByHand, time.Unix(used-quota.MaxLimit, 0).UTC()
		if d.At.Equal(d.Until) {
			d.By = quota.ByReset
		}
	}
	return d
}
