package fetch

import (
	"context"
	"sync/atomic"
	"time"
)

// How long after the end of a run, a signal for instance, what was begun may go on. A stop is over
// within five seconds.
const (
	callWithin  = 2 * time.Second // the call in flight
	writeWithin = 4 * time.Second // what has to be written behind it
)

// endKey is where the context of a run remembers when it ended, so that what is begun after that gets no
// more time.
type endKey struct{}

func rememberEnd(ctx context.Context) context.Context {
	var at atomic.Pointer[time.Time]
	context.AfterFunc(ctx, func() { now := time.Now(); at.CompareAndSwap(nil, &now) })
	return context.WithValue(ctx, endKey{}, &at)
}

// withGrace is a context that is cancelled only so long after ctx has ended: what it is for is paid for,
// or would be lost.
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
