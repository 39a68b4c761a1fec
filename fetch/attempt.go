package fetch

import (
	"context"
	"errors"
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

// errLeaseOver ends a pass that has saved no page within its lease.
var errLeaseOver = errors.New("the claim holds no longer")

// result is how an attempt ended.
type result struct {
	SlotResult
	err error // one that the next slot would meet too
}

// attempt passes the claimed slot, and always returns. If the pass panics, the slot fails. If the pass
// saves nothing within its lease, it is cancelled; if it then does not return, the slot fails without it, and the
// fence refuses its later writes.
func (p *pass) attempt(ctx context.Context) result {
	before, drawn, began := p.slot.Units, p.slot.Charges, time.Now()
	ctx, end := p.span(ctx, "pass")
	slot, err := p.runOrSkip(ctx)
	end(err, slog.String("job", slot.Job), slog.String("region", slot.Key), slog.Time("slot", slot.DueAt), slog.Int("attempt", slot.Attempt),
		slog.String("outcome", string(slot.State)), slog.Int("pages", slot.Pages), slog.Int64("units", slot.Units-before))
	return result{SlotResult{slot, slot.Units - before, chargesSince(slot, drawn), time.Since(began)}, err}
}

// chargesSince returns the amounts that a slot has drawn from each pool since before; nil if they are not known.
func chargesSince(s ingest.Slot, before map[string]int64) map[string]int64 {
	if s.Charges == nil {
		return nil
	}
	drew := map[string]int64{}
	for pool, n := range s.Charges {
		if n -= before[pool]; n != 0 {
			drew[pool] = n
		}
	}
	return drew
}

func (p *pass) runOrSkip(ctx context.Context) (ingest.Slot, error) {
	if p.slot.Kind == ingest.KindBackfill && p.slot.Tries > maxDeaths {
		return p.end(ctx, failed(fmt.Sprintf("%d runs in a row died on it before saving a page", maxDeaths)))
	}
	why := p.idle
	if why == "" && p.purpose != quota.Manual { // a person who forces it may know better
		why = p.absentReason(ctx)
	}
	if why != "" {
		end := skipped(why)
		end.known = p.idle == "" // it was logged when the upstream was asked
		return p.end(ctx, end)
	}
	return p.runWithinLease(ctx)
}

func (p *pass) runWithinLease(ctx context.Context) (ingest.Slot, error) {
	passing, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	passing = rememberEnd(passing)
	p.watch = time.AfterFunc(p.lease(), func() { cancel(errLeaseOver) })
	defer p.watch.Stop()

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
	slot := *p.progress.Load()
	if ctx.Err() != nil {
		return slot, context.Cause(ctx) // still claimed: another run takes it over
	}
	return p.record(ctx, slot, failed(p.hungReason()+", and the pass does not come back"))
}

// runGuarded runs the pass; a panic fails its slot, and nothing else.
func (p *pass) runGuarded(ctx context.Context) (slot ingest.Slot, err error) {
	defer func() {
		if v := recover(); v != nil {
			p.Log.ErrorContext(ctx, "a pass panicked", slotAttr(p.slot), slog.Any("panic", v), slog.String("stack", string(debug.Stack())))
			slot, err = p.end(ctx, failed(oneLine(fmt.Sprintf("panic: %v", v))))
		}
	}()
	return p.run(ctx)
}
