package fetch

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/trendvidstream/ingest"
)

const (
	// maxTroubles pieces in a row may fail without an id to blame. Then the run ends: the next ones would cost units for
	// nothing too.
	maxTroubles = 3
	// maxUnanswered replaces maxTroubles while calls are expensive and no call of this run was answered.
	maxUnanswered = 2
)

// runner is one Run or Serve. One goroutine adds and claims; each pass has its own.
type runner struct {
	*Reconciler
	options     RunOptions
	wanted      map[ingest.Series]bool
	claimed     map[ingest.SlotKey]bool // since the last trigger
	order       map[ingest.SlotKey]int  // when scheduled slots were first claimed
	forced      map[ingest.SlotKey]bool // forced by a person
	pages       map[string]int          // of charts that are paced, by job
	keepResults bool                    // keep results
	results     []ingest.SlotResult     // so far
	running     int
	ended       chan result

	share    *allowance
	answered bool // a call of this run has been answered
	troubles int  // pieces in a row that ended with trouble
	refused  bool // quota has refused a piece

	silence silence // as noted in the store
	probes  bool    // the next slot asks whether the upstream is back
	isAway  bool    // the upstream counts as away since this round
}

func newRunner(rec *Reconciler, o RunOptions) *runner {
	o.paced = rec.Pace != nil && !o.Force && o.Pages == 0
	r := &runner{Reconciler: rec, options: o, wanted: map[ingest.Series]bool{}, order: map[ingest.SlotKey]int{},
		ended: make(chan result), share: newAllowance(o, rec.Rate, max(1, rec.Workers))}
	series := o.Series
	if series == nil && o.Backfill == nil {
		for _, job := range rec.Jobs {
			series = append(series, job.Series()...)
		}
	}
	for _, one := range series {
		r.wanted[one] = true
	}
	return r
}

// beginRound adds due slots; those claimed before may be claimed again.
func (r *runner) beginRound(ctx context.Context) error {
	if err := r.sharedClock(ctx); err != nil {
		return err
	}
	r.claimed, r.forced = map[ingest.SlotKey]bool{}, map[ingest.SlotKey]bool{}
	scan := r.options.DueScan
	switch {
	case r.options.Backfill != nil:
		return nil
	case scan == nil:
		scan = &DueScan{}
	}
	if err := r.addDueOnce(ctx, scan); err != nil {
		return err
	}
	return r.awaitAnswer(ctx)
}

// addDueOnce adds due slots unless another run of this process, with the same scan, has just added them.
func (r *runner) addDueOnce(ctx context.Context, scan *DueScan) error {
	scan.mu.Lock()
	defer scan.mu.Unlock()
	now := r.Now()
	if age := now.Sub(scan.at); age >= 0 && age < dueScanFor {
		r.pages = scan.pages
		return nil
	}
	err := r.addDue(ctx)
	if err == nil {
		scan.at, scan.pages = now, r.pages
	}
	return err
}

// runRound claims and passes until nothing is left to claim and nothing runs. A wake calls beginRound again.
func (r *runner) runRound(ctx context.Context, wake <-chan struct{}) error {
	var fatal error
	idle := false // nothing to claim, or no use in claiming
	first := r.share.answered
	for {
		for !idle && ctx.Err() == nil && r.running < r.maxPasses() {
			var ok bool
			if ok, fatal = r.claim(ctx); !ok || fatal != nil {
				idle = true
			}
		}
		if r.running == 0 {
			if fatal == nil && ctx.Err() != nil {
				return context.Cause(ctx)
			}
			return fatal
		}
		select {
		case e := <-r.ended:
			r.running--
			if err := r.reportResult(ctx, e); fatal == nil {
				fatal = err
			}
			idle = fatal != nil || r.refused || r.isAway // the slot that ended may have blocked its series
		case <-first:
			first, r.answered = nil, true
		case <-wake:
			if fatal != nil {
				r.reportPause(ctx, fatal)
			}
			fatal = r.beginRound(ctx)
			idle = fatal != nil
		}
	}
}

// maxPasses returns how many passes may run at once.
func (r *runner) maxPasses() int {
	switch {
	case r.probes:
		return 1
	case r.options.Backfill == nil:
		return max(1, r.Workers)
	case r.expensive() && (!r.answered || r.troubles > 0): // one pass finds out whether the upstream answers
		return 1
	default:
		return passesPerCall * max(1, r.Workers)
	}
}

// expensive reports whether a wasted call costs much.
func (r *runner) expensive() bool {
	return r.options.Backfill != nil && r.options.Backfill.Kind == ingest.BackfillSearch
}

// claim starts a pass over the next slot, if there is one.
func (r *runner) claim(ctx context.Context) (ok bool, err error) {
	want := ingest.Claim{Owner: r.Owner, Now: r.Now(), Lease: r.lease(), Series: r.wanted, Except: r.claimed}
	if b := r.options.Backfill; b != nil {
		want.Series, want.Backfill, want.Reversed, want.Patient = nil, b.ID, b.Reversed(), r.options.patient
	}
	slot, ok, err := r.Slots.Claim(ctx, want)
	if err != nil && ctx.Err() != nil {
		return false, context.Cause(ctx)
	}
	if err != nil || !ok {
		return false, err
	}
	r.claimed[slot.SlotKey] = true
	if _, again := r.order[slot.SlotKey]; !again && r.options.Backfill == nil && r.keepResults {
		r.order[slot.SlotKey] = len(r.order)
	}
	r.running++
	p := r.newPass(slot)
	go func() { r.ended <- p.attempt(ctx) }()
	return true, nil
}

// reportResult reports how a slot ended, and returns an error that concerns the next slots too.
func (r *runner) reportResult(ctx context.Context, e result) error {
	switch {
	case errors.Is(e.Err, ingest.ErrFenced):
		r.Log.WarnContext(ctx, "the slot went to another run", slotAttr(e.Slot))
		if r.keepResults && e.Spent > 0 {
			e.Reason = "it went to another run, which goes on with it"
			r.results = append(r.results, e.SlotResult)
		}
		return nil
	case e.State == ingest.Claimed:
		r.Log.WarnContext(ctx, "a pass hangs, the run ends without it", slotAttr(e.Slot))
	default:
		if r.keepResults {
			r.results = append(r.results, e.SlotResult)
		}
		if r.OnSlot != nil {
			r.OnSlot(e.SlotResult)
		}
	}
	if r.options.Backfill != nil {
		return r.reportPiece(e)
	}
	return r.reportSlot(ctx, e)
}

// reportPiece records the consequences of a piece's end for the next ones: quota that refuses one will refuse the
// others too.
func (r *runner) reportPiece(e result) error {
	if e.State != ingest.Due && e.State != ingest.Stopped {
		delete(r.claimed, e.SlotKey) // it cannot be claimed again
	}
	r.refused = r.refused || e.State == ingest.Stopped
	if e.State == ingest.Done {
		r.troubles = 0
	}
	var t *trouble
	if !errors.As(e.Err, &t) || errors.Is(e.Err, ErrMaxUnits) {
		return e.Err
	}
	limit := maxTroubles
	if r.expensive() && !r.answered {
		limit = maxUnanswered
	}
	if r.troubles++; r.troubles < limit {
		return nil
	}
	return fmt.Errorf("%d pieces in a row brought nothing: %w", r.troubles, t.err)
}

// reportPause reports that the workers have nothing to do until the next trigger.
func (r *runner) reportPause(ctx context.Context, err error) {
	switch {
	case r.OnPause != nil:
		r.OnPause(err)
	case err != nil:
		r.Log.ErrorContext(ctx, "nothing is fetched until the next trigger", slog.Any("error", err))
	}
}

// passesPerCall is the number of a backfill's passes per call in flight: while one waits for an answer, others claim,
// take and save.
const passesPerCall = 2
