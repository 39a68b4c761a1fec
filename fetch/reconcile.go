// Package fetch draws pages from an upstream under quota: what is due is claimed, each page is taken,
// called and saved, and the slot is finished. It knows no upstream, no ledger and no database, only
// the few methods of each that a pass needs (needs.go).
//
// Whatever happens, a slot ends with a commit or a recorded reason, and running out of quota is an
// outcome, not an error.
package fetch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/quota"
)

// Reconciler brings the table of slots up to date with the clock. Every trigger, a cron line, a
// timer or a person, only calls Run; however often and in however many processes at once, a slot is
// passed once.
type Reconciler struct {
	Jobs     map[string]ingest.Job // by name: what a slot's pass needs to know
	Schedule Schedule
	Slots    Slots
	Sink     Sink
	Library  Library // may be nil where no job is of kind refresh
	Upstream Upstream
	Quota    Quota
	Explain  func(context.Context, quota.Decision) string // a refusal in words; nil: the refusal's own
	Owner    string                                       // names this run among all that share the table
	Now      func() time.Time
	Log      *slog.Logger
	Pause    func(ctx context.Context, d time.Duration) error // waits before a retry; nil: by the clock
}

// lease is how long a claim holds, from the last page saved: longer than all the tries of one page. A
// run that died, or hangs, is taken over after it.
const lease = 3 * time.Minute

// Wish narrows a run.
type Wish struct {
	Series []ingest.Series // only these; nil: all
	Pages  int             // instead of the job's; 0: the job's
	Force  bool            // as if every series were due now; purpose manual
}

// Worked is a slot that a run has worked on, as it ended.
type Worked struct {
	ingest.Slot
	Spent int64 // units that this run charged; Slot.Units has those of earlier attempts too
}

// Run adds what is due, then claims and passes slots until none is left, ctx is done, or something
// fails that the next slot would meet too. It returns the slots it worked on, as they ended, and an
// error when it could not go on: an *Error with BadKey, quota.ErrClosed, a context's, or a store's.
func (r *Reconciler) Run(ctx context.Context, w Wish) ([]Worked, error) {
	ctx = rememberEnd(ctx)
	purposes := map[ingest.SlotKey]quota.Purpose{}
	if err := r.addDue(ctx, w, purposes); err != nil {
		return nil, err
	}
	var worked []Worked
	claim := ingest.Claim{Owner: r.Owner, Lease: lease, Series: w.Series}
	for ctx.Err() == nil {
		claim.Now = r.Now()
		slot, ok, err := r.Slots.Claim(ctx, claim)
		if err != nil {
			return worked, fmt.Errorf("claim a slot: %w", err)
		}
		if !ok {
			return worked, nil
		}
		claim.Except = append(claim.Except, slot.SlotKey)
		before := slot.Units
		slot, err = r.work(ctx, slot, w, purposes[slot.SlotKey])
		if errors.Is(err, ingest.ErrFenced) {
			r.Log.WarnContext(ctx, "the slot went to another run", slotAttr(slot))
			continue
		}
		worked = append(worked, Worked{slot, slot.Units - before})
		if err != nil {
			return worked, err
		}
	}
	return worked, context.Cause(ctx)
}

// addDue adds the slots that the schedule, or a forcing person, wants.
func (r *Reconciler) addDue(ctx context.Context, w Wish, purposes map[ingest.SlotKey]quota.Purpose) error {
	known, err := r.Slots.Newest(ctx)
	if err != nil {
		return fmt.Errorf("read the slots: %w", err)
	}
	now := r.Now()
	due := slices.DeleteFunc(r.Schedule.Due(known, now), func(s ingest.Slot) bool {
		return w.Series != nil && !slices.Contains(w.Series, s.Series())
	})
	if w.Force {
		for _, s := range w.Series {
			slot := ingest.Slot{SlotKey: ingest.SlotKey{Job: s.Job, Key: s.Key, DueAt: now.UTC().Truncate(time.Second)}, Kind: r.Jobs[s.Job].Kind, State: ingest.Due}
			purposes[slot.SlotKey] = quota.Manual
			due = append(due, slot)
		}
	}
	if len(due) == 0 {
		return nil
	}
	if err := r.Slots.AddDue(ctx, due); err != nil {
		return fmt.Errorf("add the slots that are due: %w", err)
	}
	return nil
}

// work passes one claimed slot and finishes it. The returned error is one that ends the run.
func (r *Reconciler) work(ctx context.Context, slot ingest.Slot, w Wish, purpose quota.Purpose) (ingest.Slot, error) {
	job, ok := r.Jobs[slot.Job]
	if !ok {
		return r.finish(ctx, slot, ingest.Skipped, "the config no longer has this job", nil)
	}
	p := pass{Reconciler: r, slot: slot, purpose: purpose}
	if slot.Token != "" && r.Now().Sub(slot.TokenAt) > resumeWithin {
		p.slot.Token, p.slot.Pages = "", 0
	}
	switch job.Kind {
	case ingest.KindChart:
		p.work = &chart{upstream: r.Upstream, sink: r.Sink, category: job.Category, pages: cmp.Or(w.Pages, job.Pages)}
	case ingest.KindRefresh:
		p.work = &refresh{upstream: r.Upstream, library: r.Library, now: r.Now}
	default:
		return r.finish(ctx, slot, ingest.Skipped, fmt.Sprintf("this program knows no jobs of kind %s", job.Kind), nil)
	}
	p.purpose = cmp.Or(p.purpose, p.work.purpose())
	return p.run(ctx)
}

// finish records how a slot ended, whatever has become of ctx: a reason that is lost is a tick lost.
func (r *Reconciler) finish(ctx context.Context, slot ingest.Slot, state ingest.State, reason string, cause error) (ingest.Slot, error) {
	slot.State, slot.Reason = state, reason
	ctx, cancel := outlive(ctx, writeWithin)
	defer cancel()
	if err := r.Slots.Finish(ctx, slot); err != nil {
		return slot, errors.Join(cause, fmt.Errorf("finish the slot of %s %s: %w", slot.Job, slot.Key, err))
	}
	r.Log.InfoContext(ctx, "slot "+string(state), slotAttr(slot),
		slog.Int64("units", slot.Units), slog.Int("pages", slot.Pages), slog.String("reason", reason))
	return slot, cause
}

func slotAttr(s ingest.Slot) slog.Attr {
	return slog.Group("", slog.String("job", s.Job), slog.String("region", s.Key), slog.Time("slot", s.DueAt))
}
