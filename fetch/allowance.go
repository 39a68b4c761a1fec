package fetch

import (
	"cmp"
	"context"
	"sync"
	"sync/atomic"

	"github.com/trendvidstream/ingest"
)

// allowance is shared by the passes of one run: how many calls may be in flight, and how much they may spend.
type allowance struct {
	calls chan struct{} // its capacity is how many calls may be in flight; nil: one per pass

	maxUnits int64 // 0: no bound
	spent    atomic.Int64

	rate *Rate

	mu        sync.Mutex
	forbidden map[ingest.SlotKey]bool // slots whose calls were forbidden without a reason

	answered     chan struct{} // closed when the first call was answered
	markAnswered func()        // closes answered
}

func newAllowance(o RunOptions, rate *Rate, workers int) *allowance {
	a := &allowance{rate: cmp.Or(rate, new(Rate)), maxUnits: o.MaxUnits, forbidden: map[ingest.SlotKey]bool{},
		answered: make(chan struct{})}
	a.markAnswered = sync.OnceFunc(func() { close(a.answered) })
	if o.Backfill != nil {
		a.calls = make(chan struct{}, workers)
	}
	return a
}

// beginCall waits until a call may be sent, or returns an error once the run has ended. endCall must follow the call.
func (a *allowance) beginCall(ctx context.Context) error {
	if a.calls == nil || ctx.Err() != nil {
		return context.Cause(ctx)
	}
	select {
	case a.calls <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (a *allowance) endCall() {
	if a.calls != nil {
		<-a.calls
	}
}

// forbids reports whether calls of two slots or more were forbidden without a reason, and no call of this run was
// answered: then the slots are not at fault.
func (a *allowance) forbids(slot ingest.SlotKey) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.forbidden[slot] = true
	select {
	case <-a.answered:
		return false
	default:
		return len(a.forbidden) > 1
	}
}

// exhausted reports whether nothing more may be spent.
func (a *allowance) exhausted() bool { return a.maxUnits > 0 && a.spent.Load() >= a.maxUnits }

// spend counts a charge. If it exceeds maxUnits, it returns ErrMaxUnits, and the caller must give it back.
func (a *allowance) spend(units int64) error {
	if a.spent.Add(units) > a.maxUnits && a.maxUnits > 0 {
		return ErrMaxUnits
	}
	return nil
}

func (a *allowance) giveBack(units int64) { a.spent.Add(-units) }
