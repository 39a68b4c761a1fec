package main

import (
	"context"
	"fmt"
	"time"

	"github.com/trendvidstream/ingest/internal/report"
	"github.com/trendvidstream/ingest/internal/term"
	"github.com/trendvidstream/ingest/store"
)

// How often progress is shown on a terminal, and elsewhere.
const (
	drawEvery = time.Second
	tellEvery = 5 * time.Second
)

type progress = report.Progress

// progressOf compares a backfill with its state when the run began.
func progressOf(began, now store.BackfillStatus, took time.Duration, maxUnits int64) progress {
	total := newBackfillLine(now).Pieces["total"]
	p := progress{Event: "progress", ID: now.ID, Pieces: total - now.Open(), Total: total, Units: now.Units, Videos: now.Videos}
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

// showProgress shows it until the returned function is called: as a bar on a terminal, else as a line now and then;
// with --json as JSON lines.
func (a *app) showProgress(ctx context.Context, s *store.Store, p *pricedBackfill, maxUnits int64) (stop func()) {
	if a.quiet && !a.json {
		return func() {}
	}
	every, began := tellEvery, time.Now()
	bar := term.IsTerminal(a.stderr) && !a.json
	if bar {
		every = drawEvery
	}
	return term.Repeat(ctx, every, func() {
		now, err := s.FindBackfill(ctx, p.ID)
		if err != nil {
			return // the next read may succeed
		}
		at := progressOf(p.BackfillStatus, now, time.Since(began), maxUnits)
		switch {
		case a.json:
			_ = a.printJSON(at) // a closed output is noticed at the end
		case bar:
			a.draw(at)
		default:
			fmt.Fprintf(a.stderr, "ingest: %s: %s\n", p.ID, at.Line(false))
		}
	}, a.wipe(bar))
}

// draw draws progress over the last drawing, and wipe erases it at the end.
func (a *app) draw(p progress) { fmt.Fprintf(a.stderr, "\r\x1b[K%s", term.Fit(p.Line(true), 79)) }

func (a *app) wipe(drawn bool) func() {
	return func() {
		if drawn {
			fmt.Fprint(a.stderr, "\r\x1b[K")
		}
	}
}
