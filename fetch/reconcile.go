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
// timer or a person, only calls Run or, where a program stays, Serve; however often and in however many
// processes at once, a slot is passed once, and two slots of one series never at the same time.
type Reconciler struct {
	Jobs     map[string]ingest.Job // by name: what a slot's pass needs to know, and all that is wanted
	Schedule Schedule
	Slots    Slots
	Sink     Sink
	Library  Library
	Upstream Upstream
	Namer    Namer   // nil: categories have no names
	Counter  Counter // nil: counts come with videos only
	Quota    Quota
	Explain  func(context.Context, quota.Decision) string // a refusal in words; nil: the refusal's own
	Leave    func(context.Context) quota.Cost             // what a backfill's calls leave for the schedule; nil: what the ceilings do
	Owner    string                                       // names this run among all that share the table
	Workers  int                                          // passes at once, at most; 0: one
	Lease    time.Duration                                // how long a claim holds, from the last page saved; 0: DefaultLease
	Now      func() time.Time
	Log      *slog.Logger
	Pause    func(ctx context.Context, d time.Duration) error // waits before a retry; nil: by the clock

	// OnSlot is told of every slot that was worked on, as it ended, and OnRest, by Serve, that nothing is
	// left to claim and nothing runs: err is what kept the workers from going on, nil when all is well.
	// Neither is called twice at once, and both must return soon. They may be nil.
	OnSlot func(SlotResult)
	OnRest func(err error)
}

// DefaultLease is longer than all the tries of one page. A run that died, or hangs, is taken over after it.
const DefaultLease = 3 * time.Minute

func (r *Reconciler) lease() time.Duration { return cmp.Or(r.Lease, DefaultLease) }

// RunOptions narrows a run.
type RunOptions struct {
	Series []ingest.Series // only these; nil: all
	Pages  int             // instead of the job's; 0: the job's
	Force  bool            // as if every series were due now; purpose manual

	// Backfill is worked on instead of the schedule: Run passes its pieces until none is left, quota is
	// refused, or it has spent MaxUnits (ErrMaxUnits). Nothing that the schedule wants is added.
	Backfill *ingest.Backfill
	MaxUnits int64 // 0: no bound of its own
}

// ErrMaxUnits ends a run that has spent RunOptions.MaxUnits. Nothing failed.
var ErrMaxUnits = errors.New("this run has spent what it may")

// SlotResult is a slot that a run has worked on, as it ended.
type SlotResult struct {
	ingest.Slot
	Spent int64 // units that this run charged; Slot.Units has those of earlier attempts too
}

// Run adds what is due, then claims and passes slots until none is left, ctx is done, or something
// fails that the next slot would meet too. It returns the slots it worked on, as they ended, and an
// error when it could not go on: an *Error with BadKey, quota.ErrClosed, a context's, or a store's. It is
// back within five seconds of the end of ctx, also without a pass that hangs.
func (r *Reconciler) Run(ctx context.Context, w RunOptions) ([]SlotResult, error) {
	if w.Backfill != nil {
		if _, err := BackfillCalls(r.Upstream, w.Backfill.Kind); err != nil {
			return nil, err
		}
	}
	ctx = rememberEnd(ctx)
	c := newCrew(r, w)
	var worked []SlotResult
	c.told = func(w SlotResult) { worked = append(worked, w) }
	if err := c.begin(ctx); err != nil {
		return nil, err
	}
	err := c.round(ctx, nil)
	return worked, err
}

// addDue adds the slots that the schedule, or a forcing person, wants.
func (r *Reconciler) addDue(ctx context.Context, w RunOptions, purposes map[ingest.SlotKey]quota.Purpose) error {
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
	if len(due) > 0 {
		if err := r.Slots.AddDue(ctx, due); err != nil {
			return fmt.Errorf("add the slots that are due: %w", err)
		}
	}
	return r.retire(ctx, known)
}

// retire ends what waits for jobs and regions that the config no longer has: nothing else ever would.
func (r *Reconciler) retire(ctx context.Context, known map[ingest.Series]time.Time) error {
	gone := map[ingest.Series]string{}
	for of := range known {
		if reason := r.unwanted(of); reason != "" {
			gone[of] = reason
		}
	}
	if len(gone) == 0 {
		return nil
	}
	if err := r.Slots.Retire(ctx, gone); err != nil {
		return fmt.Errorf("end the slots that nobody wants: %w", err)
	}
	return nil
}

// unwanted says why nobody wants the slots of a series; "" where they are wanted.
func (r *Reconciler) unwanted(of ingest.Series) string {
	job, ok := r.Jobs[of.Job]
	switch {
	case !ok:
		return "the config no longer has job " + of.Job
	case of.Key == "" && len(job.Regions) == 0, slices.Contains(job.Regions, ingest.Region(of.Key)):
		return ""
	default:
		return fmt.Sprintf("the config no longer has %s in job %s", of.Key, of.Job)
	}
}

// pass is an attempt at a claimed slot. Where there is nothing to do for it, why is the reason to skip it.
func (r *Reconciler) pass(slot ingest.Slot, w RunOptions, purpose quota.Purpose, share *allowance) (p *pass, why string) {
	p = &pass{Reconciler: r, slot: slot, purpose: purpose, share: share}
	job, ok := r.Jobs[slot.Job]
	switch {
	case w.Backfill != nil:
		p.work = r.piece(w.Backfill)
	case !ok:
		return nil, r.unwanted(slot.Series())
	default:
		if p.work, why = r.workOf(job, &p.slot, w); why != "" {
			return nil, why
		}
	}
	p.purpose = cmp.Or(p.purpose, p.work.purpose())
	p.note()
	return p, ""
}

// workOf is the work of a slot of the schedule.
func (r *Reconciler) workOf(job ingest.Job, slot *ingest.Slot, w RunOptions) (_ work, why string) {
	switch job.Kind {
	case ingest.KindChart:
		if slot.Token != "" && r.Now().Sub(slot.TokenAt) > resumeWithin {
			slot.Token, slot.Pages = "", 0
		}
		return &chart{upstream: r.Upstream, sink: r.Sink, category: job.Category, pages: cmp.Or(w.Pages, job.Pages)}, ""
	case ingest.KindRefresh:
		return &refresh{Reconciler: r}, ""
	case ingest.KindSearch:
		return r.search(job, *slot, cmp.Or(w.Pages, job.Pages))
	default:
		return nil, fmt.Sprintf("this program knows no jobs of kind %s", job.Kind)
	}
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
