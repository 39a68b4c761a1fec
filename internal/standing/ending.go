package standing

import (
	"errors"
	"slices"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/quota"
)

// The exit codes that a standing knows.
const (
	ExitOK          = 0
	ExitError       = 1
	ExitUsage       = 2
	ExitPartial     = 3  // something failed
	ExitUnavailable = 69 // the ledger or the upstream: failed closed
	ExitStopped     = 75 // stopped by quota, or a piece waits, and nothing failed
	ExitKey         = 77 // key missing or refused
	ExitConfig      = 78 // bad config, or data that cannot be written
)

// Ending is how a run has ended, done at first: the outcomes of its slots, and the standing after it.
type Ending struct {
	Outcome ingest.State        // done, stopped or failed
	RetryAt time.Time           // when the first slot that was stopped, or waits, may go on; zero: none does
	Next    time.Time           // when any slot is next due
	UsedUp  time.Time           // until when the schedule has nothing left; zero: it has something
	Waiting map[ingest.Kind]int // slots that wait for quota, tried or not
	Pacing  string              // how the schedule is stretched, and why; "": it is not
}

// Add adds a slot that the run worked on. The outcome is failed if anything failed, else stopped if quota was refused
// or a piece of a backfill waits since it brought nothing.
func (e *Ending) Add(slot ingest.Slot) {
	returned := slot.State == ingest.Due && !slot.RetryAt.IsZero()
	switch {
	case slot.State == ingest.Failed, returned && slot.Kind != ingest.KindBackfill: // a call failed, and is tried again
		e.Outcome = ingest.Failed
	case slot.State == ingest.Stopped, returned:
		e.wait(slot)
	}
}

// wait adds a slot that may go on at its RetryAt.
func (e *Ending) wait(slot ingest.Slot) {
	if e.Outcome == ingest.Done {
		e.Outcome = ingest.Stopped
	}
	if e.RetryAt.IsZero() || slot.RetryAt.Before(e.RetryAt) {
		e.RetryAt = slot.RetryAt
	}
}

// Ending completes a run's ending with the time of the next slot of these series, and with the slots that wait for
// quota: a run without quota to try them was stopped, too. day is the price of a day of the schedule, which forced
// slots are no part of.
func (s Standing) Ending(e Ending, series []ingest.Series, day quota.Cost, forced bool) Ending {
	e.Pacing, e.Waiting = s.Pace.String(), map[ingest.Kind]int{}
	e.Next = s.NextDue(series...)
	var waiting []ingest.Slot
	for _, one := range series {
		if slot := s.Waiting[one]; slot.RetryAt.After(s.Now) {
			waiting = append(waiting, slot)
		}
	}
	for _, p := range s.Report.Pools {
		if at := p.ResumesAt[quota.Scheduled]; day[p.Pool] > 0 && p.Remaining[quota.Scheduled] == 0 && at.After(e.UsedUp) {
			e.UsedUp = at
		}
	}
	if len(waiting) > 0 && !forced { // the ledger knows better than a slot that was refused while another took quota
		e.RetryAt = time.Time{}
	}
	for _, slot := range waiting {
		e.Waiting[slot.Kind]++
		e.wait(slot)
	}
	for _, p := range s.Report.Pools { // one call asks whether a refusal is still in force, long before charts do
		if day[p.Pool] > 0 && p.Probe > 0 && p.DrainedUntil.After(s.Now) && e.RetryAt.After(p.DrainedUntil) {
			e.RetryAt = p.DrainedUntil
		}
	}
	return e
}

// NextDue returns when the first slot of these series, or of all, is or was due; zero: none is.
func (s Standing) NextDue(series ...ingest.Series) (at time.Time) {
	for one, next := range s.Pace.Schedule.Nexts(s.Latest, s.Now) {
		if (len(series) == 0 || slices.Contains(series, one)) && (at.IsZero() || next.DueAt.Before(at)) {
			at = next.DueAt
		}
	}
	return at
}

// ExitCode is the exit code of a run with this outcome.
func ExitCode(outcome ingest.State) int {
	switch outcome {
	case ingest.Failed:
		return ExitPartial
	case ingest.Stopped:
		return ExitStopped
	default:
		return ExitOK
	}
}

// ExitOf is the exit code of a command that an error ends.
func ExitOf(err error) int {
	if err == nil {
		return ExitOK
	}
	cause := CauseOf(err, "")
	if own, ok := errors.AsType[caused](err); ok {
		cause = Cause(own.Cause())
	}
	if code := cause.Row().Exit; code != 0 {
		return code
	}
	if errors.Is(err, quota.ErrUnavailable) || errors.Is(err, quota.ErrClosed) {
		return ExitUnavailable
	}
	return ExitError
}

// ExitCode is the exit code of ingest quota --purpose; "" is no purpose.
func (s Standing) ExitCode(purpose quota.Purpose) int {
	if s.Ledger.State == Bad {
		return ExitUnavailable
	}
	for _, p := range s.Pace.Resume(s.Report).Pools {
		if purpose != "" && (p.Remaining[purpose] == 0 || !p.ResumesAt[purpose].IsZero()) {
			return ExitStopped
		}
	}
	return ExitOK
}
