package regions

import (
	"cmp"
	"context"
	"time"

	"github.com/robfig/cron/v3"
)

// Heartbeat is how often Serve calls do when nothing is due.
const Heartbeat = 30 * time.Second

// Serve calls do at once, whenever a slot of the schedule is due, and a heartbeat (0 is Heartbeat) after the last
// call, until ctx is done. Calls never overlap; slots that come due while do runs share the next call. It returns when
// ctx is done and do has returned.
//
// robfig/cron ticks. The heartbeat notices changes that its timer cannot notice: that a laptop slept or a clock was
// set. do gets the time from now, and asks what is due since it last ran, so no slot depends on a tick; it must return
// quickly, since it delays the next call. Serve does not recover a panic of do.
func (all Schedule) Serve(ctx context.Context, heartbeat time.Duration, now func() time.Time,
	do func(ctx context.Context, now time.Time)) {
	ctx, cancel := context.WithCancel(ctx)
	due, waits := make(chan struct{}), make(after, 1)
	waits <- 0
	ticks := cron.New()
	ticks.Schedule(waits, cron.FuncJob(func() {
		select {
		case due <- struct{}{}:
		case <-ctx.Done():
		}
	}))
	ticks.Start()
	defer func() {
		cancel()
		close(waits)
		<-ticks.Stop().Done()
	}()
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-due:
			at := now()
			do(ctx, at)
			wait := cmp.Or(max(0, heartbeat), Heartbeat)
			if next := all.Next(at); !next.IsZero() {
				wait = min(wait, next.Sub(now()))
			}
			waits <- wait
		}
	}
}

// after is a cron.Schedule whose job says, when it has run, how long it is until the next run.
type after chan time.Duration

func (a after) Next(t time.Time) time.Time {
	if wait, ok := <-a; ok {
		return t.Add(wait)
	}
	return time.Time{} // never
}
