package regions

import (
	"cmp"
	"context"
	"time"
)

// Heartbeat is how often Serve calls do when nothing is due.
const Heartbeat = 30 * time.Second

// Serve calls do at once, whenever a slot of the schedule is due, and a heartbeat (0 is Heartbeat) after the last
// call, until ctx is done. Calls never overlap; slots that come due while do runs share the next call. It returns when
// ctx is done and do has returned.
//
// The heartbeat notices changes that a timer cannot notice: that a laptop slept or a clock was set. do gets the time
// from now, and asks what is due since it last ran; it must return quickly, since it delays the next call. Serve does
// not recover a panic of do.
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
