package micros

import (
	"time"

	"github.com/trendvidstream/ingest/quota"
)

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
