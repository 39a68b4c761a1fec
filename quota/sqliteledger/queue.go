package sqliteledger

import (
	"context"
	"fmt"

	"github.com/gofrs/flock"
)

// queue lets one writer in at a time: first of this process, then of all processes on the file.
type queue struct {
	lock *flock.Flock
	turn chan struct{} // of capacity 1: who put in a token may wait for the file
}

// enter waits for its turn, at most busyTimeout. The operating system hands the lock on, and takes
// it back from a process that dies.
func (q *queue) enter(ctx context.Context) (leave func(), err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, busyTimeout, fmt.Errorf("another process has held %s for %v", q.lock.Path(), busyTimeout))
	defer cancel()
	select {
	case q.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	leave = func() {
		_ = q.lock.Unlock()
		<-q.turn
	}
	if ok, err := q.lock.TryLock(); ok && err == nil {
		return leave, nil
	}
	got := make(chan error, 1)
	go func() { got <- q.lock.Lock() }()
	select {
	case err := <-got:
		if err != nil {
			<-q.turn
			return nil, err
		}
		return leave, nil
	case <-ctx.Done():
		go func() { // the lock may still come: hand it on
			if <-got == nil {
				leave()
			} else {
				<-q.turn
			}
		}()
		return nil, context.Cause(ctx)
	}
}
