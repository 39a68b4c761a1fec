package fetch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/trendvidstream/ingest"
)

// addDue adds the slots that the schedule, or a person who forces them, wants, and ends unwanted ones.
func (r *runner) addDue(ctx context.Context) error {
	now := r.Now()
	known, err := r.Slots.Newest(ctx, now)
	if err != nil {
		return err
	}
	due := r.dueSlots(ctx, known, now)
	if due, err = r.letOpenGoFirst(ctx, due, now); err != nil {
		return err
	}
	if len(due) > 0 {
		unsure := r.checkClock(ctx, known, now)
		if errors.Is(unsure, ingest.ErrClock) {
			return unsure
		}
		if unsure != nil { // the upstream was not reached: the calls will report it; delete nothing
			due = slices.DeleteFunc(due, func(s ingest.Slot) bool { return s.Kind == ingest.KindRefresh })
		}
		if err := r.Slots.AddDue(ctx, due); err != nil {
			return err
		}
		if unsure == nil {
			if err := r.sweepUnscheduled(ctx, now); err != nil {
				return err
			}
		}
	}
	return r.retire(ctx, known)
}

// dueSlots returns the slots that this run adds at now, and records which are forced and how many pages paced charts
// have.
func (r *runner) dueSlots(ctx context.Context, known map[ingest.Series]time.Time, now time.Time) []ingest.Slot {
	o, schedule := r.options, r.Schedule
	if r.Pace != nil && (o.paced || o.Force) { // forced slots come in addition to due ones
		var pages map[string]int
		if schedule, pages = r.Pace(ctx, known, now); o.paced {
			r.pages = pages
		}
	}
	due := slices.DeleteFunc(schedule.Due(known, now), func(s ingest.Slot) bool {
		return o.Series != nil && o.DueScan == nil && !slices.Contains(o.Series, s.Series())
	})
	if !o.Force {
		return due
	}
	for _, s := range o.Series {
		key := ingest.SlotKey{Job: s.Job, Key: s.Key, DueAt: now.UTC().Truncate(time.Second)}
		if newest := known[s]; !key.DueAt.After(newest) { // forced twice in a second
			key.DueAt = newest.Add(time.Second)
		}
		r.forced[key] = true
		due = append(due, ingest.Slot{SlotKey: key, Kind: r.Jobs[s.Job].Kind, State: ingest.Due})
	}
	return due
}

// letOpenGoFirst leaves out one paced slot for each open slot of its job, which takes its turn and its part of the
// budget.
func (r *runner) letOpenGoFirst(ctx context.Context, due []ingest.Slot, now time.Time) ([]ingest.Slot, error) {
	if len(due) == 0 || len(r.pages) == 0 {
		return due, nil
	}
	open, err := r.Slots.Claimable(ctx, now)
	left, waits := map[string]int{}, map[ingest.Series]bool{}
	for _, k := range open {
		left[k.Job]++
		waits[k.Series()] = true
	}
	return slices.DeleteFunc(due, func(s ingest.Slot) bool {
		_, paced := r.pages[s.Job]
		if !paced || waits[s.Series()] || left[s.Job] == 0 {
			return false
		}
		left[s.Job]--
		return true
	}), err
}

// sweepUnscheduled deletes data that is too old, if the schedule has no refresh job for that.
func (r *Reconciler) sweepUnscheduled(ctx context.Context, now time.Time) error {
	for _, job := range r.Jobs {
		if job.Kind == ingest.KindRefresh {
			return nil
		}
	}
	if _, _, err := r.Sink.Sweep(ctx, now); err != nil {
		return fmt.Errorf("delete data older than %v: %w", ingest.KeepFor, err)
	}
	return nil
}

// retire ends slots of jobs and regions that the config no longer has.
func (r *Reconciler) retire(ctx context.Context, known map[ingest.Series]time.Time) error {
	gone := map[ingest.Series]string{}
	for series := range known {
		if reason := r.unwantedReason(series); reason != "" {
			gone[series] = reason
		}
	}
	if len(gone) == 0 {
		return nil
	}
	return r.Slots.Retire(ctx, gone)
}

// unwantedReason returns why a series is not wanted; "" if it is.
func (r *Reconciler) unwantedReason(series ingest.Series) string {
	job, ok := r.Jobs[series.Job]
	switch {
	case !ok:
		return "the config no longer has job " + series.Job
	case slices.Contains(job.Series(), series):
		return ""
	default:
		return fmt.Sprintf("the config no longer has %s in job %s", series.Key, series.Job)
	}
}
