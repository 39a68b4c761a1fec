package fetch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/quota"
)

const (
	// maxTroubles is how many pieces in a row may fail as if the upstream were at fault before a run ends: the next
	// ones would be paid for nothing too.
	maxTroubles = 3
	// maxUnanswered is the limit while calls are expensive and none of this run has been answered.
	maxUnanswered = 2
)

// runner is one Run or Serve. One goroutine adds and claims; each pass has its own.
type runner struct {
	*Reconciler
	options     RunOptions
	wanted      map[ingest.Series]bool
	claimed     map[ingest.SlotKey]bool // since the last trigger
	purposes    map[ingest.SlotKey]quota.Purpose
	pages       map[string]int // of charts that are paced, by job
	keepResults bool           // results are wanted
	results     []SlotResult   // so far
	running     int
	ended       chan result

	share    *allowance
	answered bool // a call of this run has been answered
	troubles int  // pieces in a row that ended with a trouble
	refused  bool // quota has refused a piece
}

func newRunner(r *Reconciler, o RunOptions) *runner {
	o.paced = r.Pacer != nil && !o.Force && o.Pages == 0
	c := &runner{Reconciler: r, options: o, wanted: map[ingest.Series]bool{}, ended: make(chan result), share: newAllowance(o, max(1, r.Workers))}
	for _, of := range o.Series {
		c.wanted[of] = true
	}
	if o.Series != nil || o.Backfill != nil {
		return c
	}
	for _, job := range r.Jobs {
		for _, of := range job.Series() {
			c.wanted[of] = true
		}
	}
	return c
}

// beginRound adds what is due; what was claimed before may be claimed again.
func (c *runner) beginRound(ctx context.Context) error {
	c.claimed, c.purposes = map[ingest.SlotKey]bool{}, map[ingest.SlotKey]quota.Purpose{}
	if c.options.Backfill != nil {
		return nil
	}
	pages, err := c.addDue(ctx, c.options, c.purposes)
	if c.options.paced {
		c.pages = pages
	}
	return err
}

// runRound claims and passes until nothing is left to claim and nothing runs. A wake in between calls beginRound again.
func (c *runner) runRound(ctx context.Context, wake <-chan struct{}) error {
	var fatal error
	idle := false // nothing to claim, or no point in claiming it
	first := c.share.answered
	for {
		for !idle && ctx.Err() == nil && c.running < c.maxPasses() {
			var ok bool
			if ok, fatal = c.claim(ctx); !ok || fatal != nil {
				idle = true
			}
		}
		if c.running == 0 {
			if fatal == nil && ctx.Err() != nil {
				return context.Cause(ctx)
			}
			return fatal
		}
		select {
		case e := <-c.ended:
			c.running--
			if err := c.reportResult(ctx, e); fatal == nil {
				fatal = err
			}
			idle = fatal != nil || c.refused // what ended may have kept its series from being claimed
		case <-first:
			first, c.answered = nil, true
		case <-wake:
			if fatal != nil {
				c.reportRest(ctx, fatal)
			}
			fatal = c.beginRound(ctx)
			idle = fatal != nil
		}
	}
}

// maxPasses returns how many may run at once.
func (c *runner) maxPasses() int {
	switch {
	case c.options.Backfill == nil:
		return max(1, c.Workers)
	case c.expensive() && (!c.answered || c.troubles > 0): // one pass finds out for all whether the upstream answers
		return 1
	default:
		return passesPerCall * max(1, c.Workers)
	}
}

// expensive reports whether a wasted call costs much.
func (c *runner) expensive() bool {
	return c.options.Backfill != nil && c.options.Backfill.Kind == ingest.BackfillSearch
}

// claim starts a pass over the next slot, if there is one.
func (c *runner) claim(ctx context.Context) (ok bool, err error) {
	want := ingest.Claim{Owner: c.Owner, Now: c.Now(), Lease: c.lease(), Series: c.wanted, Except: c.claimed}
	if b := c.options.Backfill; b != nil {
		want.Series, want.Backfill, want.Reversed = nil, b.ID, b.Reversed()
	}
	slot, ok, err := c.Slots.Claim(ctx, want)
	if err != nil && ctx.Err() != nil {
		return false, context.Cause(ctx)
	}
	if err != nil {
		return false, fmt.Errorf("claim a slot: %w", err)
	}
	if !ok {
		return false, nil
	}
	c.claimed[slot.SlotKey] = true
	purpose := c.purposes[slot.SlotKey]
	c.running++
	options := c.options
	options.Pages = cmp.Or(options.Pages, c.pages[slot.Job])
	go func() { c.ended <- c.attempt(ctx, slot, options, purpose, c.share) }()
	return true, nil
}

// reportResult reports how a slot ended, and returns an error that the next slot would meet too.
func (c *runner) reportResult(ctx context.Context, e result) error {
	switch {
	case errors.Is(e.err, ingest.ErrFenced):
		c.Log.WarnContext(ctx, "the slot went to another run", slotAttr(e.Slot))
		return nil
	case e.State == ingest.Claimed:
		c.Log.WarnContext(ctx, "a pass hangs, the run ends without it", slotAttr(e.Slot))
	default:
		if c.keepResults {
			c.results = append(c.results, e.SlotResult)
		}
		if c.OnSlot != nil {
			c.OnSlot(e.SlotResult)
		}
	}
	if c.options.Backfill != nil {
		return c.reportPiece(e)
	}
	return e.err
}

// reportPiece remembers what the end of a piece says about the next ones. Quota that refuses one would refuse the
// others as well, or soon.
func (c *runner) reportPiece(e result) error {
	if e.State != ingest.Due && e.State != ingest.Stopped {
		delete(c.claimed, e.SlotKey) // it is never handed out again
	}
	c.refused = c.refused || e.State == ingest.Stopped
	if e.State == ingest.Done {
		c.troubles = 0
	}
	var t *trouble
	if !errors.As(e.err, &t) || errors.Is(e.err, ErrMaxUnits) {
		return e.err
	}
	limit := maxTroubles
	if c.expensive() && !c.answered {
		limit = maxUnanswered
	}
	if c.troubles++; c.troubles < limit {
		return nil
	}
	return fmt.Errorf("%d pieces in a row brought nothing: %w", c.troubles, t.err)
}

// reportRest reports that the workers have nothing to do until the next trigger.
func (c *runner) reportRest(ctx context.Context, err error) {
	if err != nil {
		c.Log.ErrorContext(ctx, "the workers rest until the next trigger", slog.Any("error", err))
	}
	if c.OnRest != nil {
		c.OnRest(err)
	}
}
