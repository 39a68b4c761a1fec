package fetch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/trendvidstream/ingest"
)

// Run adds due slots, then claims and passes slots until none is left, ctx is done, or an error concerns the next
// slots too: an *Error with BadKey, quota.ErrClosed, or the error of a context or of a store. It returns that error
// and the slots it worked on, as they ended, in the order of their claims. It returns within five seconds of the end
// of ctx, even if a pass hangs.
func (r *Reconciler) Run(ctx context.Context, o RunOptions) ([]ingest.SlotResult, error) {
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
	slices.SortStableFunc(run.results,
		func(a, b ingest.SlotResult) int { return cmp.Compare(run.order[a.SlotKey], run.order[b.SlotKey]) })
	return run.results, err
}

// Due adds due slots and returns the ones that may be claimed now, for a caller whose own workers each call Run with
// the series of one slot.
func (r *Reconciler) Due(ctx context.Context) ([]ingest.SlotKey, error) {
	run := newRunner(r, RunOptions{})
	if err := run.beginRound(rememberEnd(ctx)); err != nil {
		return nil, err
	}
	open, err := r.Slots.Claimable(ctx, r.Now())
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(open, func(k ingest.SlotKey) bool { return !run.wanted[k.Series()] }), nil
}

// CarryOn works on backfills that may continue without a person, one after another, until each is done, refused by
// quota or has spent the agreed amount, ctx is done, or an error concerns the next ones too. Every heartbeat of a
// service may call it.
func (r *Reconciler) CarryOn(ctx context.Context, waiting []ingest.Backfill) ([]ingest.SlotResult, error) {
	var all []ingest.SlotResult
	for _, b := range waiting {
		results, err := r.Run(ctx, RunOptions{Backfill: &b, patient: true})
		all = append(all, results...)
		if err != nil && !errors.Is(err, ErrMaxUnits) {
			return all, fmt.Errorf("backfill %s: %w", b.ID, err)
		}
	}
	return all, nil
}

// Serve passes slots, Workers at once, until ctx is done. After trigger it adds due slots, and the workers claim until
// nothing is left. trigger returns at once; calling it often, or while they work, is cheap. An error that would end
// Run goes to OnPause, and the workers pause until the next trigger. wait returns after ctx has ended and every pass
// has returned or was given up: within five seconds.
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
			run.reportPause(ctx, err)
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
