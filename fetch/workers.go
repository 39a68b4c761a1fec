package fetch

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/quota"
)

// Serve passes slots, Workers at once, until ctx is done. trigger says that something may be due: what is
// due is added, and the workers claim until nothing is left; it returns at once, and to call it often, or
// while they work, costs next to nothing. What keeps the workers from going on (see Run) ends nothing:
// they rest until the next trigger, and OnRest is told. wait returns after the end of ctx, when
// everything has come back or was given up: within five seconds.
func (r *Reconciler) Serve(ctx context.Context) (trigger, wait func()) {
	ctx = rememberEnd(ctx)
	c := newCrew(r, RunOptions{})
	wake, gone := make(chan struct{}, 1), make(chan struct{})
	go func() {
		defer close(gone)
		for {
			select {
			case <-wake:
			case <-ctx.Done():
				return
			}
			err := c.begin(ctx)
			if err == nil {
				err = c.round(ctx, wake)
			}
			if ctx.Err() != nil {
				return
			}
			c.rest(ctx, err)
		}
	}()
	trigger = func() {
		select {
		case wake <- struct{}{}:
		default: // it will look anyway
		}
	}
	return trigger, func() { <-gone }
}

// crew is the workers of one Run or Serve. One goroutine adds and claims; each pass has its own.
type crew struct {
	*Reconciler
	wish     RunOptions
	wanted   map[ingest.Series]bool
	tried    map[ingest.SlotKey]bool // since the last trigger
	purposes map[ingest.SlotKey]quota.Purpose
	told     func(SlotResult)
	running  int
	ended    chan ended

	share    *allowance
	answered bool // a call of this run has been
	troubles int  // pieces in a row, see trouble
	refused  bool // quota has refused a piece
}

// ended is how a worker came back.
type ended struct {
	SlotResult
	err error // one that the next slot would meet too
}

func newCrew(r *Reconciler, w RunOptions) *crew {
	c := &crew{Reconciler: r, wish: w, wanted: map[ingest.Series]bool{}, ended: make(chan ended), told: func(SlotResult) {},
		share: newAllowance(w, max(1, r.Workers))}
	for _, of := range w.Series {
		c.wanted[of] = true
	}
	if w.Series != nil || w.Backfill != nil {
		return c
	}
	for name, job := range r.Jobs {
		for _, region := range job.Regions {
			c.wanted[ingest.Series{Job: name, Key: string(region)}] = true
		}
		if len(job.Regions) == 0 {
			c.wanted[ingest.Series{Job: name}] = true
		}
	}
	return c
}

// begin adds what is due; what was tried before may be tried again.
func (c *crew) begin(ctx context.Context) error {
	c.tried, c.purposes = map[ingest.SlotKey]bool{}, map[ingest.SlotKey]quota.Purpose{}
	if c.wish.Backfill != nil {
		return nil
	}
	return c.addDue(ctx, c.wish, c.purposes)
}

// round claims and passes until nothing is left to claim and nothing runs. A wake in between begins anew.
func (c *crew) round(ctx context.Context, wake <-chan struct{}) error {
	var fatal error
	idle := false // nothing to claim, or no use in it
	first := c.share.answered
	for {
		for !idle && ctx.Err() == nil && c.running < c.passes() {
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
			if err := c.note(ctx, e); fatal == nil {
				fatal = err
			}
			idle = fatal != nil || c.refused // what ended may have kept its series from being claimed
		case <-first:
			first, c.answered = nil, true
		case <-wake:
			if fatal != nil {
				c.rest(ctx, fatal)
			}
			fatal = c.begin(ctx)
			idle = fatal != nil
		}
	}
}

// passes is how many there are at once, at most.
func (c *crew) passes() int {
	switch {
	case c.wish.Backfill == nil:
		return max(1, c.Workers)
	case c.dear() && (!c.answered || c.troubles > 0): // one asks for all, whether the upstream answers
		return 1
	default:
		return ahead * max(1, c.Workers)
	}
}

// dear reports whether a call that is made in vain costs much.
func (c *crew) dear() bool {
	return c.wish.Backfill != nil && c.wish.Backfill.Kind == ingest.BackfillSearch
}

// claim sends a worker off with the next slot, if there is one.
func (c *crew) claim(ctx context.Context) (ok bool, err error) {
	want := ingest.Claim{Owner: c.Owner, Now: c.Now(), Lease: c.lease(), Series: c.wanted, Except: c.tried}
	if b := c.wish.Backfill; b != nil {
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
	c.tried[slot.SlotKey] = true
	purpose := c.purposes[slot.SlotKey]
	c.running++
	go func() {
		before := slot.Units
		slot, err := c.attempt(ctx, slot, c.wish, purpose, c.share)
		c.ended <- ended{SlotResult{slot, slot.Units - before}, err}
	}()
	return true, nil
}

// note tells how a slot ended, and returns what the next slot would meet too.
func (c *crew) note(ctx context.Context, e ended) error {
	switch {
	case errors.Is(e.err, ingest.ErrFenced):
		c.Log.WarnContext(ctx, "the slot went to another run", slotAttr(e.Slot))
		return nil
	case e.State == ingest.Claimed:
		c.Log.WarnContext(ctx, "a pass hangs, the run ends without it", slotAttr(e.Slot))
	default:
		c.told(e.SlotResult)
		if c.OnSlot != nil {
			c.OnSlot(e.SlotResult)
		}
	}
	if c.wish.Backfill != nil {
		return c.notePiece(e)
	}
	return e.err
}

// notePiece remembers what a piece says of those that come next. Quota that refuses one would refuse the
// others as well, or soon.
func (c *crew) notePiece(e ended) error {
	if e.State != ingest.Due && e.State != ingest.Stopped {
		delete(c.tried, e.SlotKey) // nobody hands it out again
	}
	c.refused = c.refused || e.State == ingest.Stopped
	if e.State == ingest.Done {
		c.troubles = 0
	}
	var t *trouble
	if !errors.As(e.err, &t) || errors.Is(e.err, ErrMaxUnits) {
		return e.err
	}
	most := mostTroubles
	if c.dear() && !c.answered {
		most = mostUnanswered
	}
	if c.troubles++; c.troubles < most {
		return nil
	}
	return fmt.Errorf("%d pieces in a row brought nothing: %w", c.troubles, t.err)
}

// rest tells that the workers have nothing to do until the next trigger.
func (c *crew) rest(ctx context.Context, err error) {
	if err != nil {
		c.Log.ErrorContext(ctx, "the workers rest until the next trigger", slog.Any("error", err))
	}
	if c.OnRest != nil {
		c.OnRest(err)
	}
}
