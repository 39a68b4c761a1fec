package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/trendvidstream/ingest/internal/term"
	"github.com/trendvidstream/ingest/store"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/regions"
)

// The checks of what ran and what did not.

// lately is how far back failures are told.
const lately = 24 * time.Hour

// series is what the store knows of one region of one job.
type series store.SeriesSummary

func lookFreshness(ctx context.Context, d *doctor) finding {
	plan, err := d.plan()
	if err != nil {
		return noLine
	}
	now := d.clock.Now()
	known, err := store.InspectSlots(ctx, d.cfg.Data, now)
	if err != nil {
		return noLine // the store has said so
	}
	var stale []string
	fresh, oldest, of := 0, time.Duration(0), ""
	for _, s := range plan {
		for _, key := range s.Keys() {
			k := ingest.Series{Job: s.Job.Name, Key: key}
			so := series(known.Series[k])
			if line := so.stale(k, s, now); line != "" {
				stale = append(stale, line)
				continue
			}
			fresh++
			if age := now.Sub(so.DoneDue); age > oldest {
				oldest, of = age, name(k)
			}
		}
	}
	if len(stale) > 0 {
		const most = 8
		if n := len(stale); n > most {
			stale = append(stale[:most], fmt.Sprintf("and %d more", n-most))
		}
		return warn(fmt.Sprintf("%d stale, %d fresh; %s", len(stale), fresh, strings.Join(stale, "; ")),
			"ingest slots --region R says why; is a timer, cron or serve running?")
	}
	return fine("%d of %d fresh, the oldest is %s, due %s ago", fresh, fresh, of, term.Ago(oldest))
}

// stale says why the series is stale, "" while it is fresh: at most one of its slots waits.
func (s series) stale(k ingest.Series, plan regions.Schedule, now time.Time) string {
	if s.DoneDue.IsZero() {
		return strings.TrimSuffix(fmt.Sprintf("%s: never done, %s", name(k), s.why()), ", ")
	}
	behind := 0
	for _, slot := range plan.Between(s.DoneDue, now) {
		if slot.Key == k.Key {
			behind++
		}
	}
	if behind < 2 {
		return ""
	}
	return strings.TrimSuffix(fmt.Sprintf("%s: %s behind (%s), %s", name(k), term.Plural(behind, "slot"), term.Ago(now.Sub(s.DoneDue)), s.why()), ", ")
}

// why is the frozen reason of the newest slot.
func (s series) why() string {
	if s.State == ingest.Done || s.State == "" {
		return ""
	}
	return string(s.State) + " " + strings.ReplaceAll(s.Reason, "; ", ", ")
}

// name is the region, with the job where there may be several.
func name(k ingest.Series) string {
	if k.Key == "" {
		return k.Job
	}
	return k.Job + " " + k.Key
}

func lookSlots(ctx context.Context, d *doctor) finding {
	now := d.clock.Now()
	slots, err := store.InspectSlots(ctx, d.cfg.Data, now.Add(-lately))
	if err != nil {
		return noLine
	}
	var stuck, failed []string
	for _, s := range slots.Claimed {
		if !s.Lease.After(now) {
			stuck = append(stuck, fmt.Sprintf("%s of %s: claimed by %s, its lease has been over for %s", name(s.Series()), term.Stamp(s.DueAt), s.Owner, term.Ago(now.Sub(s.Lease))))
		}
	}
	for _, s := range slots.Failed {
		failed = append(failed, fmt.Sprintf("%s of %s: %s", name(s.Series()), term.Stamp(s.DueAt), strings.ReplaceAll(s.Reason, "; ", ", ")))
	}
	n := len(failed)
	const most = 3
	if len(stuck) > most {
		stuck = append(stuck[:most:most], "and more")
	}
	if n > most {
		failed = append(failed[:most:most], fmt.Sprintf("and %d more failed", n-most))
	}
	switch {
	case len(stuck) > 0:
		return warn(strings.Join(append(stuck, failed...), "; "), "the next ingest run takes it over; if it stays, nothing runs: see the timer, cron or serve")
	case len(failed) > 0:
		return warn(fmt.Sprintf("%d failed in the last day; %s", n, strings.Join(failed, "; ")), "ingest slots --outcome failed shows them all")
	}
	return fine("no claim is stuck, none failed in the last day")
}
