package fetch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/trendvidstream/ingest"
)

// Run adds what is due, then claims and passes slots until none is left, ctx is done, or something fails that the next
// slot would meet too. It returns the slots it worked on, as they ended and in the order in which they were claimed, and
// an error when it could not go on: an *Error with BadKey, quota.ErrClosed, a context's, or a store's. It returns within
// five seconds of the end of ctx, even if a pass hangs.
func (r *Reconciler) Run(ctx context.Context, o RunOptions) ([]SlotResult, error) {
	if o.Backfill != nil {
		if _, err := BackfillCalls(r.Upstream, o.Backfill.Kind); err != nil {
			return nil, err
		}
	}
	ctx = rememberEnd(ctx)
	run := newRunner(r, o)
	run.keepResults = true
	if err := run.beginRound(ctx); err != nil {
		return nil, err
	}
	err := run.runRound(ctx, nil)
	slices.SortStableFunc(run.results, func(a, b SlotResult) int { return cmp.Compare(run.order[a.SlotKey], run.order[b.SlotKey]) })
	return run.results, err
}

// Due adds what is due and returns the slots that may be claimed now, for a caller that starts its own workers: each
// calls Run, narrowed to the series of its slot.
func (r *Reconciler) Due(ctx context.Context) ([]ingest.SlotKey, error) {
	run := newRunner(r, RunOptions{})
	if err := run.beginRound(rememberEnd(ctx)); err != nil {
		return nil, err
	}
	open, err := r.Slots.Claimable(ctx, r.Now())
	if err != nil {
		return nil, fmt.Errorf("read the slots: %w", err)
	}
	return slices.DeleteFunc(open, func(k ingest.SlotKey) bool { return !run.wanted[k.Series()] }), nil
}

// CarryOn works on backfills, one after another, until each is done, refused by quota or has spent what was agreed to, ctx is
// done, or something fails that the next would meet too. It is for those that may be carried on without a person;
// every heartbeat of a service may call it.
func (r *Reconciler) CarryOn(ctx context.Context, waiting []ingest.Backfill) ([]SlotResult, error) {
	var all []SlotResult
	for _, b := range waiting {
		results, err := r.Run(ctx, RunOptions{Backfill: &b})
		all = append(all, results...)
		if err != nil && !errors.Is(err, ErrMaxUnits) {
			return all, fmt.Errorf("backfill %s: %w", b.ID, err)
		}
	}
	return all, nil
}

// Serve passes slots, Workers at once, until ctx is done. trigger says that something may be due: Serve adds what is
// due, and the workers claim until nothing is left. trigger returns at once, and calling it often, or while they work,
// costs next to nothing. An error that would end Run does not end Serve: the workers rest until the next trigger, and
// OnRest gets the error. wait returns after ctx has ended, when everything has returned or was given up: within five
// seconds.
func (r *Reconciler) Serve(ctx context.Context) (trigger, wait func()) {
	ctx = rememberEnd(ctx)
	run := newRunner(r, RunOptions{})
	wake, gone := make(chan struct{}, 1), make(chan struct{})
	go func() {
		defer close(gone)
		for {
			select {
			case <-wake:
			case <-ctx.Done():
				return
			}
			err := run.beginRound(ctx)
			if err == nil {
				err = run.runRound(ctx, wake)
			}
			if ctx.Err() != nil {
				return
			}
			run.reportRest(ctx, err)
		}
	}()
	trigger = func() {
		select {
		case wake <- struct{}{}:
		default: // one is waiting already
		}
	}
	return trigger, func() { <-gone }
}
