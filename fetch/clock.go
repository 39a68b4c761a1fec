package fetch

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/trendvidstream/ingest"
)

// checkClock returns ingest.ErrClock, before anything is added, fetched or deleted, if now is ahead of every due time
// in known and differs from the upstream's clock. With a clock a year ahead all stored data would be too old, and
// every slot of that year would count as done. With a clock that is behind, slots and units would belong to a time that
// is over. checkClock returns another error if the upstream was not reached, and nil if it does not give the time.
func (r *Reconciler) checkClock(ctx context.Context, known map[ingest.Series]time.Time, now time.Time) error {
	var newest time.Time
	for _, t := range known {
		if t.After(newest) {
			newest = t
		}
	}
	if r.Date == nil || !newest.Before(now.Add(-ingest.ClockAhead)) {
		return nil
	}
	date, err := r.Date(ctx)
	if err != nil || date.IsZero() || date.Sub(now).Abs() <= ingest.ClockAhead {
		return err
	}
	slot := "there is no slot yet"
	if !newest.IsZero() {
		slot = "the newest slot was due at " + newest.UTC().Format(time.DateTime+"Z")
	}
	return fmt.Errorf("%w: it says %s, the upstream's %s, and %s: nothing was fetched or deleted. "+
		"Set the clock (timedatectl set-ntp true; ingest doctor --online compares it), then run again",
		ingest.ErrClock, now.UTC().Format(time.DateTime+"Z"), date.UTC().Format(time.DateTime+"Z"), slot)
}

// sharedClock returns ingest.ErrClock, and why, if this machine's clock differs from the clock of the machines that
// share the table: its slots would be due at other times than theirs.
func (r *Reconciler) sharedClock(ctx context.Context) error {
	if r.CheckClock == nil {
		return nil
	}
	err := r.CheckClock(ctx)
	if _, apart := errors.AsType[*ingest.ClockApart](err); apart {
		return fmt.Errorf("%w: nothing is fetched here: %w", ingest.ErrClock, err)
	}
	return err
}
