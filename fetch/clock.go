package fetch

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/trendvidstream/ingest"
)

// ErrClock is a clock that is ahead of the newest slot and of the upstream's own clock. Nothing was added, fetched or
// deleted: a year ahead, all that is stored would be too old, and all that is due later would be taken for done.
var ErrClock = errors.New("this machine's clock is ahead")

// checkClock refuses a clock that is ahead of everything it can be held against. newest is when the newest slot was
// due. An upstream whose clock cannot be asked for says nothing: what it is then asked for fails too.
func (r *Reconciler) checkClock(ctx context.Context, newest, now time.Time) error {
	if r.Date == nil || !newest.Before(now.Add(-ingest.ClockAhead)) {
		return nil
	}
	date, err := r.Date(ctx)
	if err != nil || date.IsZero() || !date.Before(now.Add(-ingest.ClockAhead)) {
		return err
	}
	slot := "there is no slot yet"
	if !newest.IsZero() {
		slot = "the newest slot was due at " + newest.UTC().Format(time.RFC3339)
	}
	return fmt.Errorf("%w: it says %s, the upstream's %s, and %s: nothing was fetched or deleted. Set the clock (timedatectl set-ntp true; ingest doctor --online compares it), then run again",
		ErrClock, now.UTC().Format(time.RFC3339), date.UTC().Format(time.RFC3339), slot)
}

// newestOf is the latest of what is known, and the zero time where nothing is.
func newestOf(known map[ingest.Series]time.Time) time.Time {
	var newest time.Time
	for _, t := range known {
		if t.After(newest) {
			newest = t
		}
	}
	return newest
}
