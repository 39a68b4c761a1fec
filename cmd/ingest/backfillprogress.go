package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/trendvidstream/ingest/internal/term"
	"github.com/trendvidstream/ingest/store"
)

// How often progress is shown: on a terminal, and elsewhere.
const (
	drawEvery = time.Second
	tellEvery = 5 * time.Second
)

type progress = term.Progress

// progressOf compares a backfill with what it was when the run began.
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

// showProgress shows it until the returned function is called: a bar on a terminal, else a line now and
// then; in JSON a line of its own.
func (a *app) showProgress(ctx context.Context, s *store.Store, p *pricedBackfill, maxUnits int64) (stop func()) {
	if a.quiet && !a.json {
		return func() {}
	}
	every, drawn := tellEvery, false
	bar := term.IsTerminal(a.stderr) && !a.json
	if bar {
		every = drawEvery
	}
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() {
		tick := time.NewTicker(every)
		defer tick.Stop()
		for began := time.Now(); ; {
			select {
			case <-ctx.Done():
				if drawn {
					fmt.Fprint(a.stderr, "\r\x1b[K")
				}
				return
			case <-tick.C:
			}
			now, err := s.FindBackfill(ctx, p.ID)
			if err != nil {
				continue // the next look may do better
			}
			at := progressOf(p.BackfillStatus, now, time.Since(began), maxUnits)
			switch {
			case a.json:
				_ = a.printJSON(at) // whoever reads no more will be noticed at the end
			case bar:
				drawn = true
				fmt.Fprintf(a.stderr, "\r\x1b[K%s", term.Fit(at.Line(true), 79))
			default:
				fmt.Fprintf(a.stderr, "ingest: %s: %s\n", p.ID, at.Line(false))
			}
		}
	})
	return func() {
		cancel()
		running.Wait()
	}
}
