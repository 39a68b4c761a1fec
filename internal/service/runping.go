package service

import (
	"context"
	"strconv"
	"time"
)

// How long a ping may hold up the end of the program, within the five seconds of a stop.
const (
	lastPingWithin  = 2 * time.Second
	lastPingBy      = 4500 * time.Millisecond // after a signal
	startPingWithin = time.Second             // of lastPingWithin, for one that is still on its way
)

// BeginRun tells the switch that a run has begun, and returns how to tell it of the end: the exit status and a
// summary. Only end waits for the switch, for two seconds at most, and a switch that cannot be reached fails nothing.
// For a nil Pinger both do nothing.
func (p *Pinger) BeginRun(ctx context.Context) (end func(status int, summary string)) {
	if p == nil {
		return func(int, string) {}
	}
	signalled := make(chan time.Time, 1)
	forget := context.AfterFunc(ctx, func() { signalled <- time.Now() })
	starting, giveUp := context.WithCancel(context.WithoutCancel(ctx))
	started := make(chan struct{})
	go func() {
		defer close(started)
		p.post(starting, "start", "run", "started\n")
	}()
	return func(status int, summary string) {
		forget()
		left := lastPingWithin
		select {
		case at := <-signalled:
			left = min(left, lastPingBy-time.Since(at))
		default:
		}
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), left)
		defer cancel()
		select {
		case <-started:
		case <-time.After(min(startPingWithin, left/2)):
		}
		giveUp() // the switch must hear of the end last
		<-started
		p.post(last, strconv.Itoa(status), "run", summary)
	}
}
