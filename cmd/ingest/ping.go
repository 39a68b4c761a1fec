package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/trendvidstream/ingest/internal/term"
)

// How long a ping may hold up the end of the program, within the five seconds of a stop.
const (
	pingAtExit   = 2 * time.Second
	pingLatest   = 4500 * time.Millisecond // after a signal
	pingStartFor = time.Second             // of pingAtExit, for one that is still on its way
)

// ping tells the dead man's switch, where one is configured, that a run has begun, and returns how to
// tell it of the end: stop(summary, err) returns err as it is. Nothing waits for the switch but the end,
// for two seconds, and nothing of it fails the run; only a switch that is configured wrongly is refused.
//
// A day stopped by quota is a good day: it is told as exit status 0, with the reason in the summary.
func (a *app) ping(ctx context.Context) (stop func(summary string, err error) error, err error) {
	p, err := a.pinger()
	if p == nil {
		return func(_ string, err error) error { return err }, err
	}
	ended := make(chan time.Time, 1)
	forget := context.AfterFunc(ctx, func() { ended <- time.Now() })
	starting, giveUp := context.WithCancel(context.WithoutCancel(ctx))
	started := make(chan struct{})
	go func() {
		defer close(started)
		p.post(starting, "start", a.pingHead("run")+"started\n")
	}()
	return func(summary string, err error) error {
		forget()
		left := pingAtExit
		select {
		case at := <-ended:
			left = min(left, pingLatest-time.Since(at))
		default:
		}
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), left)
		defer cancel()
		select {
		case <-started:
		case <-time.After(min(pingStartFor, left/2)):
		}
		giveUp() // the switch shall hear of the end last
		<-started
		code := endCode(ctx, err)
		text := a.pingHead("run") + "exit " + strconv.Itoa(code) + "\n"
		if silent := (codeError{}); err != nil && (!errors.As(err, &silent) || silent.err != nil) {
			text += term.Clean(err.Error()) + "\n"
		}
		if code == exitStopped {
			code = exitOK
		}
		p.post(last, strconv.Itoa(code), text+summary)
		return err
	}, nil
}

// endCode is the exit code that a command which returns err will end with.
func endCode(ctx context.Context, err error) int {
	if ended := (signalled{}); err != nil && errors.As(context.Cause(ctx), &ended) {
		err = ended
	}
	return exitCode(err)
}

// pingHead begins what the switch is told, for a person who has several.
func (a *app) pingHead(command string) string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return fmt.Sprintf("ingest %s on %s: ", command, term.Clean(host))
}
