package main

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/fetch"
	"github.com/trendvidstream/ingest/internal/report"
	"github.com/trendvidstream/ingest/internal/term"
	"github.com/trendvidstream/ingest/store"
)

// How often progress is shown on a terminal, and elsewhere.
const (
	drawEvery  = time.Second
	printEvery = 5 * time.Second
)

// showProgress shows line's result until stop is called: on a terminal in one place, which is erased at the end,
// elsewhere as a new line each time. "" is not shown.
func (a *app) showProgress(ctx context.Context, line func(terminal bool) string) (stop func()) {
	if a.quiet || a.json {
		return func() {}
	}
	terminal, every, begin, end := term.IsTerminal(a.stderr), printEvery, "ingest: ", "\n"
	if terminal {
		every, begin, end = drawEvery, "\r\x1b[K", ""
	}
	ended := term.Repeat(ctx, every, func() {
		if text := line(terminal); text != "" {
			fmt.Fprint(a.stderr, begin+term.Fit(text, term.Screen-1)+end)
		}
	})
	return func() {
		if ended(); terminal {
			fmt.Fprint(a.stderr, begin)
		}
	}
}

// showBackfill shows the progress of a backfill; with --json as JSON lines.
func (a *app) showBackfill(ctx context.Context, s *store.Store, p *pricedBackfill, maxUnits int64) (stop func()) {
	began := time.Now()
	read := func() (report.Progress, bool) {
		now, err := s.FindBackfill(ctx, p.ID)
		return progressOf(p.BackfillStatus, now, time.Since(began), maxUnits), err == nil // else the next read may succeed
	}
	if a.json {
		return term.Repeat(ctx, printEvery, func() {
			if at, ok := read(); ok {
				_ = a.printJSON(at) // a closed output is noticed at the end
			}
		})
	}
	return a.showProgress(ctx, func(terminal bool) string {
		switch at, ok := read(); {
		case !ok:
			return ""
		case terminal:
			return at.Line(true)
		default:
			return p.ID + ": " + at.Line(false)
		}
	})
}

// progressOf compares a backfill with its state when the run began.
func progressOf(began, now store.BackfillStatus, took time.Duration, maxUnits int64) report.Progress {
	total := newBackfillLine(now).Pieces["total"]
	p := report.Progress{Event: "progress", ID: now.ID, Pieces: total - now.Open(), Total: total,
		Units: now.Units, Videos: now.Videos}
	over, spent := began.Open()-now.Open(), now.Units-began.Units
	if took <= 0 {
		return p
	}
	p.PerMinute = float64(spent) / took.Minutes()
	if over > 0 {
		p.SecondsTo = took.Seconds() / float64(over) * float64(now.Open())
	}
	if left := maxUnits - spent; maxUnits > 0 && spent > 0 && left >= 0 {
		if byUnits := took.Seconds() / float64(spent) * float64(left); p.SecondsTo == 0 || byUnits < p.SecondsTo {
			p.SecondsTo = byUnits
		}
	}
	return p
}

func (a *app) showRun(ctx context.Context, rec *fetch.Reconciler, s *store.Store,
	series []ingest.Series) (stop func()) {
	var ended, units atomic.Int64
	rec.OnSlot = func(r ingest.SlotResult) {
		ended.Add(1)
		units.Add(r.Spent)
	}
	return a.showProgress(ctx, func(terminal bool) string {
		if !terminal {
			return ""
		}
		open := 0
		for _, state := range []ingest.State{ingest.Due, ingest.Claimed} {
			slots, err := s.ListSlots(ctx, store.SlotFilter{State: state, Until: a.clock.Now()})
			if err != nil {
				return ""
			}
			for _, slot := range slots {
				if slices.Contains(series, slot.Series()) {
					open++
				}
			}
		}
		n := int(ended.Load())
		return report.Progress{Of: "slot", Pieces: n, Total: n + open, Units: units.Load()}.Line(true)
	})
}

// showRows shows how many rows of a table are copied. The caller reports each step with tell.
func (a *app) showRows(ctx context.Context) (tell func(table string, done, total int), stop func()) {
	var at atomic.Value
	tell = func(table string, done, total int) {
		at.Store(fmt.Sprintf("%s: %s of %s", table, term.Thousands(int64(done)), term.Plural(total, "row")))
	}
	return tell, a.showProgress(ctx, func(bool) string {
		text, _ := at.Load().(string)
		return text
	})
}
