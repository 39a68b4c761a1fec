package fetch

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/quota"
)

const (
	// returnWithin is how long a cancelled pass may take to return, including its last writes, before it is given up.
	// A stop takes at most five seconds.
	returnWithin = writeWithin + 500*time.Millisecond
	// maxFruitless is how many claims of a piece in a row may bring nothing, or end with a dead process, before it
	// fails. By then it has waited for five days.
	maxFruitless = 25
)

// errLeaseOver ends a pass that has saved no page within its lease.
var errLeaseOver = errors.New("the claim is over")

// pass is one attempt at one slot, from its claim to its end.
type pass struct {
	*Reconciler
	work    work   // nil if there is nothing to do
	idle    string // why there is nothing to do
	purpose quota.Purpose
	share   *allowance

	slot      ingest.Slot // its progress; written by publishProgress only
	units     int64       // charged by the last take
	restarted bool        // at page 1, because the token was refused
	retried   int         // calls
	probe     bool        // asks whether the upstream is back: its first call has no retries
	saved     int         // answers
	malformed ingest.Malformed
	again     string // the charge that this pass pays again, for the reason

	progress atomic.Pointer[ingest.Slot] // a copy of slot, in case the pass is given up
	part     int64                       // of a day's limit that its calls were charged, in millionths
	silent   atomic.Int64                // part, at least 1, if the slot failed without any usable answer
	watch    *time.Timer                 // ends the pass when its lease is over
}

// publishProgress is the only place that sets the pass's progress, for itself and for other goroutines.
func (p *pass) publishProgress(slot ingest.Slot) {
	p.slot = slot
	p.progress.Store(&slot)
}

// result is how an attempt ended.
type result struct {
	ingest.SlotResult
	silent int64 // see pass
}

// attempt passes the claimed slot, and always returns. If the pass panics, the slot fails. If it saves nothing within
// its lease, it is cancelled; if it still does not return, the slot fails without it, and the fence refuses its later
// writes.
func (p *pass) attempt(ctx context.Context) result {
	before, began := p.slot, time.Now()
	end := p.logStep(ctx, "pass")
	slot, err := p.runOrSkip(ctx)
	end(err, slog.String("job", slot.Job), slog.String("region", slot.Key), slog.Time("slot", slot.DueAt),
		slog.Int("attempt", slot.Attempt),
		slog.String("outcome", string(slot.State)), slog.Int("pages", slot.Pages),
		slog.Int64("units", slot.Units-before.Units))
	drew := slot
	drew.Refund(before.Charges, false)
	return result{ingest.SlotResult{Slot: slot, Spent: slot.Units - before.Units, Drew: drew.Charges,
		Took: time.Since(began), Err: err}, p.silent.Load()}
}

func (p *pass) runOrSkip(ctx context.Context) (ingest.Slot, error) {
	if p.slot.Kind == ingest.KindBackfill && p.slot.Tries > maxFruitless {
		return p.end(ctx, failed(fmt.Sprintf("%d runs in a row brought nothing for it", maxFruitless)))
	}
	why := p.idle
	if why == "" && p.purpose != quota.Manual { // the person who forces it may know better
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
		back <- result{SlotResult: ingest.SlotResult{Slot: slot, Err: err}}
	}()
	select {
	case e := <-back:
		return e.Slot, e.Err
	case <-passing.Done():
	}
	late := time.NewTimer(returnWithin)
	defer late.Stop()
	select {
	case e := <-back:
		return e.Slot, e.Err
	case <-late.C:
	}
	slot := *p.progress.Load()
	if ctx.Err() != nil {
		return slot, context.Cause(ctx) // still claimed: another run will take it over
	}
	return p.record(ctx, slot, failed(p.hungReason()+", and the pass does not return"))
}

// runGuarded runs the pass; a panic fails its slot only.
func (p *pass) runGuarded(ctx context.Context) (slot ingest.Slot, err error) {
	defer func() {
		if v := recover(); v != nil {
			p.Log.ErrorContext(ctx, "a pass panicked", slotAttr(p.slot), slog.Any("panic", v),
				slog.String("stack", string(debug.Stack())))
			slot, err = p.end(ctx, failed(oneLine(fmt.Sprintf("panic: %v", v))))
		}
	}()
	return p.run(ctx)
}

// run passes the slot, and records how it ended unless its last page did. An error concerns the whole run.
func (p *pass) run(ctx context.Context) (ingest.Slot, error) {
	if end, open := p.spend(ctx); open {
		return p.end(ctx, end)
	}
	return p.slot, nil
}

// spend takes, calls and saves: the only loop that spends. It returns the slot's ending; open is false if the slot has
// already ended, with its last page or by being cancelled.
func (p *pass) spend(ctx context.Context) (_ ending, open bool) {
	for ctx.Err() == nil {
		s, ok, err := p.work.next(ctx, p.slot)
		if err != nil {
			return p.interrupted(ctx, err), true
		}
		if !ok {
			return done(p.work.doneReason()), true
		}
		refused, callErr := p.call(ctx, s)
		switch {
		case refused != nil:
			return stopped(p.Quota.Explain(ctx, *refused), refused.RetryAt), true
		case callErr == nil:
			p.malformed.Add(s.malformed())
			err = p.save(ctx, s)
		default:
			var goesOn bool
			if goesOn, err = p.retryStep(ctx, s, callErr); err == nil && !goesOn {
				return p.callFailed(ctx, s, callErr), true
			}
		}
		if err != nil {
			return p.interrupted(ctx, err), true
		}
		if p.slot.State != ingest.Claimed {
			return ending{}, false
		}
	}
	return p.interrupted(ctx, context.Cause(ctx)), true
}

// save stores an answer, even if ctx is done, as it is paid for. If that fails, the slot stays where it was, and the
// next run asks for the page again.
func (p *pass) save(ctx context.Context, s step) error {
	ctx, cancel := withGrace(ctx, writeWithin)
	defer cancel()
	next := p.slot
	if next.Pages++; !s.suspect() {
		next.Tries = 0
	}
	next.Reason = withMalformed(p.again, p.malformed)
	now := p.Now()
	if now.Before(next.DueAt) { // the clock was set back during the pass: a slot is claimed once it is due
		now = next.DueAt
	}
	next.TokenAt, next.FetchedAt, next.Lease = now, now, now.Add(p.lease())
	end := p.logStep(ctx, "save")
	slot, err := s.save(ctx, next)
	end(err, slog.Int("page", next.Pages))
	if err != nil {
		return fmt.Errorf("%v: %w", p.slot.Series(), err)
	}
	p.saved++
	p.publishProgress(slot)
	p.watch.Reset(p.lease())
	return nil
}

// retryStep tries to go on after a call that failed for good: a refused page token sets the slot back to page 1, once,
// and other failures are left to the step. goesOn is also true if the slot has ended meanwhile.
func (p *pass) retryStep(ctx context.Context, s step, callErr error) (goesOn bool, err error) {
	e, ok := errors.AsType[*Error](callErr)
	if !ok || ctx.Err() != nil {
		return false, nil
	}
	ctx, cancel := withGrace(ctx, writeWithin)
	defer cancel()
	slot := p.slot
	switch {
	case e.Verdict == BadToken && s.restart != nil && slot.Token != "" && !p.restarted:
		p.restarted = true
		slot, err = s.restart(ctx, slot, p.units)
		goesOn = true
	case s.narrow != nil && (e.Verdict == Rejected || e.Verdict == Broken):
		slot, goesOn, err = s.narrow(ctx, slot, e)
	}
	if err != nil {
		return false, err
	}
	p.publishProgress(slot)
	return goesOn, nil
}
