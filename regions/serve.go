package regions

import (
	"cmp"
	"context"
	"time"

	"github.com/robfig/cron/v3"
)

// Heartbeat is how often Serve calls do when nothing is due.
const Heartbeat = 30 * time.Second

// Serve calls do at once, whenever a slot of the schedule is due, and at every heartbeat (0 is Heartbeat), until
// ctx is done. Calls never overlap; triggers that come while do runs become one. It returns when ctx is
// done, after do and the ticker have ended.
//
// The heartbeat covers what a timer cannot know: within one, it notices that a laptop slept or that a clock was set.
// do gets the time from now, which must be safe for concurrent use, and asks what is due since it last ran; it must
// return quickly, since it delays the next call. A panic of do passes through Serve after the ticker has ended: a
// caller that must survive it recovers in its do.
func (all Schedule) Serve(ctx context.Context, heartbeat time.Duration, now func() time.Time, do func(ctx context.Context, now time.Time)) {
	trigger := make(chan struct{}, 1)
	ticker := cron.New(cron.WithLocation(time.UTC), cron.WithLogger(cron.DiscardLogger), cron.WithChain())
	ticker.Schedule(ticks{all, now}, cron.FuncJob(func() {
		select {
		case trigger <- struct{}{}:
		default: // one is waiting already
		}
	}))
	ticker.Start()
	defer func() { <-ticker.Stop().Done() }()
	beat := time.NewTicker(cmp.Or(max(0, heartbeat), Heartbeat))
	defer beat.Stop()
	for ctx.Err() == nil {
		do(ctx, now())
		select {
		case <-ctx.Done():
		case <-trigger:
			dropPending(beat.C)
		case <-beat.C:
			dropPending(trigger)
		}
	}
}

// ticks is the schedule by Serve's clock, for a ticker that follows the machine's.
type ticks struct {
	schedule Schedule
	now      func() time.Time
}

// Next is never early: the machine's clock is read after the other one.
func (t ticks) Next(time.Time) time.Time {
	now := t.now()
	next := t.schedule.Next(now)
	if next.IsZero() {
		return next
	}
	return time.Now().Add(next.Sub(now))
}

// dropPending drops a trigger that is waiting, since the one that just came covers it.
func dropPending[T any](c <-chan T) {
	select {
	case <-c:
	default:
	}
}
