package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// signalled is the cause of a context ended by a signal, and when that was.
type signalled struct {
	sig syscall.Signal
	at  time.Time
}

func (s signalled) Error() string { return "ended by signal: " + s.sig.String() }

// endsWithin is the longest that the program runs on after a signal.
const endsWithin = 4900 * time.Millisecond

// notify returns a context that ends at the first of these signals; a second one kills the program at once. Even if
// something hangs, such as a server that does not answer, the program exits within endsWithin: that is like a power
// cut, which loses nothing.
func notify(parent context.Context, which ...os.Signal) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(parent)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, which...)
	done := make(chan struct{})
	go func() {
		defer close(done)
		select {
		case s := <-signals:
			signal.Stop(signals)
			ended := signalled{s.(syscall.Signal), time.Now()}
			time.AfterFunc(endsWithin, func() { os.Exit(exitCode(ended)) })
			cancel(ended)
		case <-ctx.Done():
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		cancel(nil)
		<-done
	}
}

// endedBy returns the signal that ended the context in place of err, or else err; nil stays nil.
func endedBy(ctx context.Context, err error) error {
	if ended, ok := errors.AsType[signalled](context.Cause(ctx)); ok && err != nil {
		return ended
	}
	return err
}
