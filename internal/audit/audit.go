// Package audit compares the units that the slots in the store spent with those that the ledger has counted. A ledger
// that is gone, or that was restored from an older copy, would let the same quota be spent again: so the
// gate stays closed while Missing finds anything, doctor names it, and ingest quota rebuild posts it.
package audit

import (
	"context"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/quota"
)

const (
	// longestSlot is how long after its due time a slot of the schedule may still spend.
	longestSlot = 25 * time.Hour
	// longestAttempt is more than one attempt at a piece of a backfill takes.
	longestAttempt = time.Hour
)

// Ledger is the part of a quota.Ledger that an audit reads.
type Ledger interface {
	Spent(ctx context.Context, account string, since time.Time, every time.Duration) ([]quota.Spent, error)
}

// Account is one account of a ledger, as far back as its windows count.
type Account struct {
	Ledger  Ledger // nil: it is gone, and has counted nothing
	Name    string
	Now     time.Time
	Horizon time.Duration // of its tariff
}

// Shortfall is the part of one slot's spending that the ledger has not counted.
type Shortfall struct {
	Slot  ingest.Slot
	Units int64      // at most Slot.Units, and counted like them
	Cost  quota.Cost // by pool
}

// MissingSince returns the time from which Missing needs the slots that spent quota: the ledger's clock may be ahead.
func (a Account) MissingSince() time.Time { return a.Now.Add(-a.Horizon + quota.MaxClockGap) }

// RebuildSince returns the time from which Rebuild needs them.
func (a Account) RebuildSince() time.Time { return a.MissingSince().Add(-longestSlot) }

// Missing returns what these slots spent that the ledger certainly lacks. It judges only slots that spent everything
// within the horizon: of the others' spending, the ledger may have rightly forgotten a part.
func (a Account) Missing(ctx context.Context, slots []ingest.Slot) ([]Shortfall, error) {
	within, _ := a.splitByHorizon(slots)
	var spent []quota.Spent
	if a.Ledger != nil && len(within) > 0 {
		var err error
		if spent, err = a.Ledger.Spent(ctx, a.Name, a.Now.Add(-a.Horizon), 0); err != nil {
			return nil, err
		}
	}
	return compare(within, spent), nil
}

// Rebuild returns what has to be posted to a ledger that lacks anything: first what is missing, then all that was
// spent by slots which began before the horizon and went on within it, since counting too much is safe. In this order
// a rebuild that was cut short can be repeated: the gate stays closed until all that is missing has been posted.
func (a Account) Rebuild(ctx context.Context, slots []ingest.Slot) ([]Shortfall, error) {
	missing, err := a.Missing(ctx, slots)
	if err != nil || len(missing) == 0 {
		return nil, err
	}
	_, across := a.splitByHorizon(slots)
	for _, slot := range across {
		missing = append(missing, Shortfall{Slot: slot, Units: slot.Units, Cost: quota.Cost(slot.Charges)})
	}
	return missing, nil
}

// Post posts what is missing, and returns how many slots it has posted. methods returns the methods that a slot calls,
// and is asked once for each job.
func (a Account) Post(missing []Shortfall, t *quota.Tariff, methods func(ingest.Slot) ([]string, error), post func(Posting) error) (slots int, err error) {
	known := map[string][]string{}
	for _, s := range missing {
		called, ok := known[s.Slot.Job]
		if !ok {
			if called, err = methods(s.Slot); err != nil {
				return slots, err
			}
			known[s.Slot.Job] = called
		}
		p, err := s.Posting(called, t, a.Now)
		if err == nil {
			err = post(p)
		}
		if err != nil {
			return slots, err
		}
		slots++
	}
	return slots, nil
}

// splitByHorizon finds the slots that spent everything within the horizon, and those that may have begun before it.
func (a Account) splitByHorizon(slots []ingest.Slot) (within, across []ingest.Slot) {
	since := a.MissingSince()
	for _, slot := range slots {
		oneAttempt := slot.Kind == ingest.KindBackfill && slot.Attempt == 1
		switch {
		case slot.Units == 0:
		case !slot.DueAt.Before(since), oneAttempt && slot.FetchedAt.After(since.Add(longestAttempt)):
			within = append(within, slot)
		case slot.State != ingest.Done, slot.FetchedAt.After(a.Now.Add(-a.Horizon)):
			across = append(across, slot)
		}
	}
	return within, across
}

// Units returns the sum of the units of shortfalls.
func Units(missing []Shortfall) int64 {
	units := int64(0)
	for _, s := range missing {
		units += s.Units
	}
	return units
}
