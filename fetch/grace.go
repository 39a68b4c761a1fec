package fetch

import (
	"context"
	"sync/atomic"
	"time"
)

// How long work in progress may take after a run ends, as by a signal. A stop takes at most five seconds.
const (
	callWithin  = 2 * time.Second // a take or a call in flight
	writeWithin = 4 * time.Second // the writes that follow it
)

// endKey is the context key for the time when the run ended, since later work gets no extra time.
type endKey struct{}

func rememberEnd(ctx context.Context) context.Context {
	var at atomic.Pointer[time.Time]
	context.AfterFunc(ctx, func() { now := time.Now(); at.CompareAndSwap(nil, &now) })
	return context.WithValue(ctx, endKey{}, &at)
}

// withGrace returns a context that is cancelled d after ctx ends: for work that is paid for, or would be lost.
func withGrace(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	longer, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		left := d
		if at, ok := ctx.Value(endKey{}).(*atomic.Pointer[time.Time]); ok {
			if ended := at.Load(); ended != nil {
				left -= time.Since(*ended)
			}
		}
		time.AfterFunc(left, func() { cancel(context.Cause(ctx)) })
	})
	return longer, func() {
		stop()
		cancel(nil)
	}
}
