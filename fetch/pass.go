package fetch

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/quota"
)

// spentAgain is when to ask again after a provider that says no on both sides of its midnight.
const spentAgain = 5 * time.Minute

// resumeWithin is how old a chart's page token may be: an older one belongs to another chart.
const resumeWithin = 10 * time.Minute

// work is what a kind of job asks for, step by step.
type work interface {
	purpose() quota.Purpose
	// next is what the slot asks for next; ok is false when there is nothing left to ask.
	next(ctx context.Context, slot ingest.Slot) (s step, ok bool, err error)
	// end says what was done, when nothing is left to ask.
	end() (reason string)
}

// mender is work that may go on after a call that failed for good. It returns the slot as it then is,
// written where that is needed. cost is what the call drew, in units.
type mender interface {
	mend(ctx context.Context, slot ingest.Slot, e *Error, cost int64) (_ ingest.Slot, goesOn bool, err error)
}

// step is one call of a pass, and what becomes of its answer.
type step struct {
	method string
	region ingest.Region
	tries  int                             // at most; 0: as many as any call has
	do     func(ctx context.Context) error // sends the call and keeps the answer for save
	// save writes the answer with the slot's progress: its next token, and the state Done when it was the
	// last.
	save func(ctx context.Context, slot ingest.Slot) (ingest.Slot, error)
}

// stepOf is the step of a call whose answer save writes.
func stepOf[T any](c Call[T], save func(ctx context.Context, slot ingest.Slot, answer T) (ingest.Slot, error)) step {
	var answer T
	return step{
		method: c.Method, region: c.Region,
		do: func(ctx context.Context) (err error) {
			answer, err = c.Do(ctx)
			return err
		},
		save: func(ctx context.Context, slot ingest.Slot) (ingest.Slot, error) { return save(ctx, slot, answer) },
	}
}

// pass is one attempt at one slot.
type pass struct {
	*Reconciler
	slot      ingest.Slot
	work      work
	purpose   quota.Purpose
	share     *allowance
	cost      int64 // of the last take, in units
	restarted bool  // at page 1, because the upstream refused the token
	retried   int   // calls, after answers that were of no use
	saved     int   // answers

	noted atomic.Pointer[ingest.Slot] // how far it came, for whoever has given it up
	held  func()                      // the claim holds for another lease
}

// note keeps how far the pass came where another goroutine may read it.
func (p *pass) note() {
	slot := p.slot
	p.noted.Store(&slot)
}

// run takes, calls and saves until the slot has ended: the only loop that spends. The returned error
// is one that ends the run as well.
func (p *pass) run(ctx context.Context) (ingest.Slot, error) {
	for ctx.Err() == nil {
		s, ok, err := p.work.next(ctx, p.slot)
		if err != nil {
			return p.release(ctx, err)
		}
		if !ok {
			return p.finish(ctx, p.slot, ingest.Done, p.work.end(), nil)
		}
		refusal, err := p.fetch(ctx, s)
		if refusal != nil {
			return p.stop(ctx, *refusal)
		}
		if err != nil {
			goesOn, mendErr := p.mend(ctx, err)
			switch {
			case mendErr != nil:
				return p.release(ctx, mendErr)
			case !goesOn && p.slot.State == ingest.Claimed:
				return p.conclude(ctx, err)
			}
		} else if err := p.save(ctx, s); err != nil {
			return p.release(ctx, err)
		}
		if p.slot.State != ingest.Claimed { // done, or cancelled meanwhile
			return p.slot, nil
		}
	}
	return p.release(ctx, context.Cause(ctx))
}

// save keeps an answer, whatever has become of ctx: it is paid for. One that cannot be kept leaves the
// slot where it was, so that the next run asks for it again.
func (p *pass) save(ctx context.Context, s step) error {
	ctx, cancel := outlive(ctx, writeWithin)
	defer cancel()
	next := p.slot
	next.Pages++
	next.Tries = 0
	next.TokenAt, next.FetchedAt, next.Lease = p.Now(), p.Now(), p.Now().Add(p.lease())
	slot, err := s.save(ctx, next)
	if err != nil {
		return fmt.Errorf("save a page of %s %s: %w", p.slot.Job, p.slot.Key, err)
	}
	p.slot = slot
	p.saved++
	p.note()
	p.held()
	return nil
}

// mend finds a way to go on after a call that failed for good, where there is one. A refused token sets the
// slot back to page 1, once.
func (p *pass) mend(ctx context.Context, err error) (goesOn bool, _ error) {
	var e *Error
	if !errors.As(err, &e) || ctx.Err() != nil {
		return false, nil
	}
	if m, ok := p.work.(mender); ok {
		ctx, cancel := outlive(ctx, writeWithin)
		defer cancel()
		slot, goesOn, err := m.mend(ctx, p.slot, e, p.cost)
		if err == nil {
			p.slot = slot
			p.note()
		}
		return goesOn, err
	}
	if e.Verdict != BadToken || p.restarted || p.slot.Token == "" {
		return false, nil
	}
	p.restarted = true
	p.slot.Token, p.slot.Pages = "", 0
	p.note()
	return true, nil
}

// stop ends the slot because quota was refused. The reason is frozen: it is what the person asks for
// who finds the region stale the next morning.
func (p *pass) stop(ctx context.Context, d quota.Decision) (ingest.Slot, error) {
	reason := d.Refusal.String()
	if p.Explain != nil {
		reason = p.Explain(ctx, d)
	}
	p.slot.RetryAt = d.At.Add(d.RetryAfter)
	p.harmless()
	return p.finish(ctx, p.slot, ingest.Stopped, reason, nil)
}

// harmless takes back that the claim counts as one that brought nothing.
func (p *pass) harmless() { p.slot.Tries = max(0, p.slot.Tries-1) }

// conclude ends the slot because a call failed for good.
func (p *pass) conclude(ctx context.Context, err error) (ingest.Slot, error) {
	var e *Error
	if !errors.As(err, &e) || ctx.Err() != nil {
		return p.release(ctx, err)
	}
	switch e.Verdict {
	case BadKey, Unsent: // the next slot would fare no better, and this one cost nothing
		return p.release(ctx, err)
	case Spent: // twice, the day having turned in between
		p.slot.RetryAt = p.Now().Add(spentAgain)
		p.harmless()
		return p.finish(ctx, p.slot, ingest.Stopped, err.Error(), nil)
	case NoChart:
		return p.skipAbsent(ctx, err)
	default:
		if p.slot.Kind == ingest.KindBackfill {
			return p.concludePiece(ctx, e, err)
		}
		return p.finish(ctx, p.slot, ingest.Failed, err.Error(), nil)
	}
}

// release hands the slot back as due, with what it has, for a later run: this one cannot go on. A slot
// that hung fails: the next attempt would hang too, and every one of them is paid for.
func (p *pass) release(ctx context.Context, cause error) (ingest.Slot, error) {
	if errors.Is(cause, ingest.ErrFenced) {
		return p.slot, cause
	}
	if errors.Is(context.Cause(ctx), errOverdue) {
		if p.slot.Kind == ingest.KindBackfill { // which may have waited for another one's call
			return p.giveBack(ctx, errors.New(p.overdue()))
		}
		return p.finish(ctx, p.slot, ingest.Failed, p.overdue(), nil)
	}
	p.harmless()
	return p.finish(ctx, p.slot, ingest.Due, cause.Error(), cause)
}
