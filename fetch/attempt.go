package fetch

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"strings"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/quota"
)

// backWithin is how long after its end a pass has to come back, with what it may write, before it is given
// up. A stop is over within five seconds.
const backWithin = writeWithin + 500*time.Millisecond

// longestReason bounds a reason that nobody wrote for a person, in bytes.
const longestReason = 300

// errOverdue ends a pass that has brought no page for as long as its claim holds.
var errOverdue = errors.New("the claim holds no longer")

// attempt passes one claimed slot, and comes back whatever the pass does. One that panics fails. One that
// brings nothing until its lease is over is ended then; if it does not come back, its slot fails without
// it, and the fence refuses what it may write later. The returned error is one that the next slot would
// meet too.
func (r *Reconciler) attempt(ctx context.Context, slot ingest.Slot, w RunOptions, purpose quota.Purpose, share *allowance) (ingest.Slot, error) {
	if slot.Kind == ingest.KindBackfill && slot.Tries > mostDeaths {
		return r.finish(ctx, slot, ingest.Failed, fmt.Sprintf("%d runs in a row ended at it without a page and without a word", mostDeaths), nil)
	}
	p, why := r.pass(slot, w, purpose, share)
	if why == "" && purpose != quota.Manual { // a person who forces it may know better
		why = r.knownAbsent(ctx, r.Jobs[slot.Job], slot)
	}
	if why != "" {
		return r.finish(ctx, slot, ingest.Skipped, why, nil)
	}
	passing, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	passing = rememberEnd(passing)
	watch := time.AfterFunc(r.lease(), func() { cancel(errOverdue) })
	defer watch.Stop()
	p.held = func() { watch.Reset(r.lease()) }

	back := make(chan ended, 1)
	go func() {
		slot, err := p.guarded(passing)
		back <- ended{SlotResult{Slot: slot}, err}
	}()
	select {
	case e := <-back:
		return e.Slot, e.err
	case <-passing.Done():
	}
	patience := time.NewTimer(backWithin)
	defer patience.Stop()
	select {
	case e := <-back:
		return e.Slot, e.err
	case <-patience.C:
	}
	slot = *p.noted.Load()
	if ctx.Err() != nil {
		return slot, context.Cause(ctx) // still claimed: another run takes it over
	}
	return r.finish(ctx, slot, ingest.Failed, p.overdue()+", and the pass does not come back", nil)
}

// guarded runs the pass; a panic ends its slot as failed, and nothing else.
func (p *pass) guarded(ctx context.Context) (slot ingest.Slot, err error) {
	defer func() {
		if v := recover(); v != nil {
			p.Log.ErrorContext(ctx, "a pass panicked", slotAttr(p.slot), slog.Any("panic", v), slog.String("stack", string(debug.Stack())))
			slot, err = p.finish(ctx, p.slot, ingest.Failed, oneLine(fmt.Sprintf("panic: %v", v)), nil)
		}
	}()
	return p.run(ctx)
}

// overdue says that the pass brought nothing for too long.
func (p *pass) overdue() string {
	return fmt.Sprintf("hung: no page within its lease of %v", p.lease())
}

// oneLine makes one line of a text, and a short one.
func oneLine(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > longestReason {
		s = strings.ToValidUTF8(s[:longestReason], "") + "…"
	}
	return s
}
