package fetch

import (
	"context"
	"time"
)

// How long after the end of a run, a signal for instance, what was begun may go on. A stop is over
// within five seconds.
const (
	callWithin  = 2 * time.Second // the call in flight
	writeWithin = 4 * time.Second // what has to be written behind it
)

// outlive is a context that is cancelled only so long after ctx is: what it is for is paid for, or
// would be lost.
func outlive(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	longer, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		time.AfterFunc(d, func() { cancel(context.Cause(ctx)) })
	})
	return longer, func() {
		stop()
		cancel(nil)
	}
}
