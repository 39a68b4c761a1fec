package micros

import (
	"fmt"
	"time"

	"github.com/trendvidstream/ingest/quota"
)

// Facts reads what a server answered about the pools of an ask, and which entry it made in each: 0 for none.
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

// Decide makes the decision from facts, which must be the one that the server acted on.
func Decide(a quota.Ask, clock, now time.Time, facts []quota.PoolFacts, entries []int64, allowed bool) (quota.Decision, error) {
	if err := a.Check(now); err != nil {
		return quota.Decision{}, err
	}
	d, err := quota.Decide(a, clock, now, facts)
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
