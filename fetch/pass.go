package fetch

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/quota"
)

// pass is one attempt at one slot.
type pass struct {
	*Reconciler
	slot      ingest.Slot // how far it came; written by publishProgress only
	work      work
	purpose   quota.Purpose
	share     *allowance
	units     int64 // of the last take
	restarted bool  // at page 1, because the upstream refused the token
	retried   int   // calls
	saved     int   // answers
	odd       ingest.Odd

	progress      atomic.Pointer[ingest.Slot] // a copy of slot, for whoever gives the pass up
	leaseExtended func()                      // called when the claim has been extended by another lease
}

// publishProgress alone writes how far the pass came, for the pass itself and for other goroutines.
func (p *pass) publishProgress(slot ingest.Slot) {
	p.slot = slot
	p.progress.Store(&slot)
}

// run takes, calls and saves until the slot has ended: the only loop that spends. An error concerns the run as well as
// this slot.
func (p *pass) run(ctx context.Context) (ingest.Slot, error) {
	for ctx.Err() == nil {
		s, ok, err := p.work.next(ctx, p.slot)
		if err != nil {
			return p.release(ctx, err)
		}
		if !ok {
			return p.finish(ctx, p.slot, ingest.Done, p.work.doneReason(), nil)
		}
		refused, failed := p.call(ctx, s)
		switch {
		case refused != nil:
			return p.stop(ctx, *refused)
		case failed == nil:
			p.odd.Add(s.odd())
			err = p.save(ctx, s)
		default:
			var goesOn bool
			if goesOn, err = p.recover(ctx, s, failed); err == nil && !goesOn {
				return p.conclude(ctx, s, failed)
			}
		}
		if err != nil {
			return p.release(ctx, err)
		}
		if p.slot.State != ingest.Claimed { // done, or cancelled meanwhile
			return p.slot, nil
		}
	}
	return p.release(ctx, context.Cause(ctx))
}

// finish records how the slot ended, and what made no sense in the answers.
func (p *pass) finish(ctx context.Context, slot ingest.Slot, state ingest.State, reason string, cause error) (ingest.Slot, error) {
	return p.Reconciler.finish(ctx, slot, state, withOdd(reason, p.odd), cause)
}

// withOdd adds to a reason what made no sense in the answers.
func withOdd(reason string, odd ingest.Odd) string {
	if len(odd) == 0 {
		return reason
	}
	return strings.TrimPrefix(reason+"; "+oneLine(odd.String()), "; ")
}

// save stores an answer, even if ctx is done: it is paid for. If it cannot be stored, the slot stays where it was, and
// the next run asks for the page again.
func (p *pass) save(ctx context.Context, s step) error {
	ctx, cancel := withGrace(ctx, writeWithin)
	defer cancel()
	next := p.slot
	next.Pages++
	next.Tries = 0
	next.Reason = withOdd("", p.odd)
	next.TokenAt, next.FetchedAt, next.Lease = p.Now(), p.Now(), p.Now().Add(p.lease())
	ctx, end := p.span(ctx, "save")
	slot, err := s.save(ctx, next)
	end(err, slog.Int("page", next.Pages))
	if err != nil {
		return fmt.Errorf("save a page of %s %s: %w", p.slot.Job, p.slot.Key, err)
	}
	p.saved++
	p.publishProgress(slot)
	p.leaseExtended()
	return nil
}

// recover tries to go on after a call that failed for good: a refused page token sets the slot back to page 1, once,
// and other failures are left to the step's recover. goesOn is also true if the slot has ended meanwhile.
func (p *pass) recover(ctx context.Context, s step, failed error) (goesOn bool, err error) {
	e, ok := errors.AsType[*Error](failed)
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
	case s.recover != nil && (e.Verdict == Rejected || e.Verdict == Broken):
		slot, goesOn, err = s.recover(ctx, slot, e)
	}
	if err != nil {
		return false, err
	}
	p.publishProgress(slot)
	return goesOn, nil
}
