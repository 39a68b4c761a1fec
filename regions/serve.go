package regions

import (
	"cmp"
	"context"
	"time"

	"github.com/robfig/cron/v3"
)

// Heartbeat is the time between two calls of do, in Serve, while nothing is due.
const Heartbeat = 30 * time.Second

// Serve calls do at its start, whenever a slot of the schedule is due, and at the latest a heartbeat (0 is Heartbeat)
// after the last call, until ctx is done. Calls never overlap; slots that come due while do runs share the next call.
// Serve returns when ctx is done and do has returned.
//
// robfig/cron wakes Serve for the slots. Its timer misses a laptop that slept and a clock that was set: the heartbeat
// covers these. do gets the time from now, and computes the slots due since its last call, so no slot depends on one
// wake-up. do must return quickly, since it delays the next call. Serve does not recover a panic of do.
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

// after is a cron.Schedule whose job sets the time until its next run.
type after chan time.Duration

func (a after) Next(t time.Time) time.Time {
	if wait, ok := <-a; ok {
		return t.Add(wait)
	}
	return time.Time{} // never
}
