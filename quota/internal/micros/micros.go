// Package micros converts asks and answers for ledgers whose servers count in microseconds.
package micros

import (
	"fmt"
	"time"

	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/internal/protocol"
)

// Asked returns the caller's clock, 0 if the ask has none.
func Asked(a quota.Ask) int64 {
	if a.Now.IsZero() {
		return 0
	}
	return max(a.Now.UnixMicro(), 1)
}

// Of rounds up, so that an entry that has not quite left a window still counts.
func Of(d time.Duration) int64 {
	return int64((d + time.Microsecond - 1) / time.Microsecond)
}

// Steps returns the length of a step of the ask's precision, 0 for none, and the offset that aligns the steps with
// time.Time.Truncate, whose steps begin in year 1.
func Steps(a quota.Ask) (length, offset int64) {
	length = max(a.Precision.Microseconds(), 0)
	if length == 0 {
		return 0, 0
	}
	const sinceYear1 = 62_135_596_800_000_000 // until 1970
	return length, sinceYear1 % length
}

// PutDrain returns a drain as five numbers: until, used, by, at, probe.
func PutDrain(d quota.Drain) []int64 {
	return []int64{orZero(d.Until), d.Used, int64(d.By), orZero(d.At), int64(d.Probe)}
}

// ReadDrain reads the numbers of PutDrain.
func ReadDrain(next func() int64) quota.Drain {
	until, used, by, at, probe := next(), next(), next(), next(), next()
	d := quota.Drain{Used: used, By: quota.DrainedBy(by), Probe: int(probe)}
	if until > 0 {
		d.Until = protocol.Time(until)
	}
	if at > 0 {
		d.At = protocol.Time(at)
	}
	return d
}

// orZero returns a time in microseconds, 0 if it is zero.
func orZero(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return min(max(t.UnixMicro(), 0), 1<<53)
}

// Facts reads a server's facts about the pools of an ask, and the number of the entry made in each, 0 for none.
func Facts(a quota.Ask, next func() int64) (facts []quota.PoolFacts, entries []int64) {
	facts, entries = make([]quota.PoolFacts, len(a.Charges)), make([]int64, len(a.Charges))
	for i, c := range a.Charges {
		f := &facts[i]
		f.Total, f.Drain, f.Entries = next(), ReadDrain(next), next()
		entries[i] = next()
		for _, b := range c.Bounds {
			w := quota.WindowFacts{Before: next(), First: next()}
			if later := next(); b.Window.Day() {
				w.NextStart = later
			} else {
				w.Leaves = later
			}
			f.Windows = append(f.Windows, w)
		}
	}
	return facts, entries
}

// Decide makes the decision from facts, and returns an error if the server acted on another one.
func Decide(a quota.Ask, clock, now time.Time, facts []quota.PoolFacts, entries []int64,
	allowed bool) (quota.Decision, error) {
	if err := a.Check(now); err != nil {
		return quota.Decision{}, err
	}
	d, err := a.Decide(clock, now, facts)
	if err != nil {
		return quota.Decision{}, err
	}
	if d.Allowed != allowed {
		return quota.Decision{}, fmt.Errorf("the server answered %t, and by its facts allowed is %t", allowed, d.Allowed)
	}
	for i := range d.Pools {
		if d.Pools[i].Charged > 0 {
			d.Pools[i].Entry = entries[i]
		}
	}
	return d, nil
}
