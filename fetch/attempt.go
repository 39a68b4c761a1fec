package fetch

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/quota"
)

const (
	// returnWithin is how long a cancelled pass may take to return, including what it still writes, before it is given
	// up. A stop is over within five seconds.
	returnWithin = writeWithin + 500*time.Millisecond
	// maxDeaths is how many claims of a piece in a row may end because their processes died. That is seldom the fault
	// of the piece; if it is, each of them cost a call at most.
	maxDeaths = 25
)

// result is how an attempt ended.
type result struct {
	SlotResult
	err error // one that the next slot would meet too
}

// attempt passes one claimed slot, and returns whatever the pass does. If the pass panics, the slot fails. If the pass
// saves nothing within its lease, it is cancelled; if it then does not return, the slot fails without it, and the
// fence refuses what it may write later.
func (r *Reconciler) attempt(ctx context.Context, slot ingest.Slot, o RunOptions, purpose quota.Purpose, share *allowance) result {
	before, began := slot.Units, time.Now()
	ctx, end := r.span(ctx, "pass")
	slot, err := r.passWithinLease(ctx, slot, o, purpose, share)
	end(err, slog.String("job", slot.Job), slog.String("region", slot.Key), slog.Time("slot", slot.DueAt), slog.Int("attempt", slot.Attempt),
		slog.String("outcome", string(slot.State)), slog.Int("pages", slot.Pages), slog.Int64("units", slot.Units-before))
	return result{SlotResult{slot, slot.Units - before, time.Since(began)}, err}
}

func (r *Reconciler) passWithinLease(ctx context.Context, slot ingest.Slot, o RunOptions, purpose quota.Purpose, share *allowance) (ingest.Slot, error) {
	if slot.Kind == ingest.KindBackfill && slot.Tries > maxDeaths {
		return r.finish(ctx, slot, ingest.Failed, fmt.Sprintf("%d runs in a row died on it before saving a page", maxDeaths), nil)
	}
	work, begin, why := r.workOf(slot, o)
	if why == "" && purpose != quota.Manual { // a person who forces it may know better
		why = r.absentReason(ctx, slot)
	}
	if why != "" {
		return r.finish(ctx, slot, ingest.Skipped, why, nil)
	}
	passing, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	passing = rememberEnd(passing)
	watch := time.AfterFunc(r.lease(), func() { cancel(errOverdue) })
	defer watch.Stop()
	p := &pass{Reconciler: r, work: work, purpose: cmp.Or(purpose, work.purpose()), share: share, leaseExtended: func() { watch.Reset(r.lease()) }}
	p.publishProgress(begin)

	back := make(chan result, 1)
	go func() {
		slot, err := p.runGuarded(passing)
		back <- result{SlotResult{Slot: slot}, err}
	}()
	select {
	case e := <-back:
		return e.Slot, e.err
	case <-passing.Done():
	}
	late := time.NewTimer(returnWithin)
	defer late.Stop()
	select {
	case e := <-back:
		return e.Slot, e.err
	case <-late.C:
	}
	slot = *p.progress.Load()
	if ctx.Err() != nil {
		return slot, context.Cause(ctx) // still claimed: another run takes it over
	}
	return r.finish(ctx, slot, ingest.Failed, p.overdueReason()+", and the pass does not come back", nil)
}

// runGuarded runs the pass; a panic fails its slot, and nothing else.
func (p *pass) runGuarded(ctx context.Context) (slot ingest.Slot, err error) {
	defer func() {
		if v := recover(); v != nil {
			p.Log.ErrorContext(ctx, "a pass panicked", slotAttr(p.slot), slog.Any("panic", v), slog.String("stack", string(debug.Stack())))
			slot, err = p.finish(ctx, p.slot, ingest.Failed, oneLine(fmt.Sprintf("panic: %v", v)), nil)
		}
	}()
	return p.run(ctx)
}
