package regions

import (
	"cmp"
	"context"
	"time"
)

// Heartbeat is how often Serve calls do when nothing is due.
const Heartbeat = 30 * time.Second

// Serve calls do at once, whenever a slot of the schedule is due, and a heartbeat (0 is Heartbeat) after the last call,
// until ctx is done. Calls never overlap; what comes due while do runs is one call. It returns when ctx is done and do
// has ended.
//
// The heartbeat covers what a timer cannot know: within one, it notices that a laptop slept or that a clock was set.
// do gets the time from now, and asks what is due since it last ran; it must return quickly, since it delays the next
// call. A panic of do passes through Serve: a caller that must survive it recovers in its do.
func (all Schedule) Serve(ctx context.Context, heartbeat time.Duration, now func() time.Time, do func(ctx context.Context, now time.Time)) {
	for ctx.Err() == nil {
		at := now()
		do(ctx, at)
		wait := cmp.Or(max(0, heartbeat), Heartbeat)
		if next := all.Next(at); !next.IsZero() {
			wait = min(wait, next.Sub(now()))
		}
		select {
		case <-ctx.Done():
		case <-time.After(wait):
		}
	}
}
