package fetch

import (
	"context"
	"maps"
	"sync"
)

// passesPerCall is the number of passes of a backfill for each call that may be in flight: while one waits for an
// answer, others claim, take and save.
const passesPerCall = 2

// allowance is shared by the passes of one run: how many calls may be in flight, and what they may spend.
type allowance struct {
	calls chan struct{} // its capacity is how many calls may be in flight; nil: one of each pass

	mu       sync.Mutex
	maxUnits int64 // 0: no bound
	spent    int64
	left     map[string]int64 // by pool, as far as they have a bound

	answered chan struct{} // closed when a call has been answered
	once     sync.Once
}

func newAllowance(o RunOptions, workers int) *allowance {
	a := &allowance{maxUnits: o.MaxUnits, left: maps.Clone(o.MaxCharges), answered: make(chan struct{})}
	if o.Backfill != nil {
		a.calls = make(chan struct{}, workers)
	}
	return a
}

// beginCall waits until a call may be sent, which none may once the run has ended; endCall must follow when it has
// returned.
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

// markAnswered records that a call was answered: the next ones are not made for nothing.
func (a *allowance) markAnswered() { a.once.Do(func() { close(a.answered) }) }

// exhausted reports whether nothing more may be spent.
func (a *allowance) exhausted() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.maxUnits > 0 && a.spent >= a.maxUnits
}

// spend counts a charge, in units and by pool. If that was not left, it returns why, and the caller must give it back.
func (a *allowance) spend(units int64, charges map[string]int64) (over error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.spent += units; a.spent > a.maxUnits && a.maxUnits > 0 {
		over = ErrMaxUnits
	}
	for pool, n := range charges {
		if left, bounded := a.left[pool]; bounded {
			if a.left[pool] = left - n; n > left && over == nil {
				over = ErrMaxCharges
			}
		}
	}
	return over
}

// giveBack gives a charge back.
func (a *allowance) giveBack(units int64, charges map[string]int64) {
	negative := map[string]int64{}
	for pool, n := range charges {
		negative[pool] = -n
	}
	_ = a.spend(-units, negative)
}
