package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/fetch"
	"github.com/trendvidstream/ingest/internal/config"
	"github.com/trendvidstream/ingest/internal/report"
	"github.com/trendvidstream/ingest/internal/term"
	"github.com/trendvidstream/ingest/store"
)

func (a *app) runCommand() *cobra.Command {
	var only []ingest.Region
	var options fetch.RunOptions
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Fetch what is due now, and exit: for cron and timers",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if most := a.provider().calls.Limits().ChartPages; options.Pages > most {
				return usageError{fmt.Errorf("--pages %d is outside 1..%d", options.Pages, most)}
			}
			if err := a.selectSeries(&options, only); err != nil {
				return err
			}
			return a.reconcile(cmd.Context(), options)
		},
	}
	cmd.Flags().Var(config.RegionsFlag(&only), "region", "only these `regions`, such as US,GB")
	cmd.Flags().Var(config.Count(&options.Pages, 1, 0), "pages", "at most `N` pages of each chart, instead of the job's")
	cmd.Flags().BoolVar(&options.Force, "force", false, "fetch the charts now, due or not, as purpose manual")
	return cmd
}

// selectSeries sets what a run works on: everything configured, or only these regions.
func (a *app) selectSeries(o *fetch.RunOptions, only []ingest.Region) error {
	found := map[ingest.Region]bool{}
	for _, job := range a.cfg.Jobs {
		if o.Force && job.Kind != ingest.KindChart {
			continue
		}
		for _, series := range job.Series() {
			if region := ingest.Region(series.Key); len(only) == 0 || slices.Contains(only, region) {
				o.Series = append(o.Series, series)
				found[region] = true
			}
		}
	}
	if o.Force && len(found) == 0 {
		return usageError{errors.New("--force: no job fetches charts")}
	}
	for _, r := range only {
		if !found[r] {
			return usageError{fmt.Errorf("--region: no job fetches %s: add it to regions: of a chart job in the config", r)}
		}
	}
	return nil
}

// reconcile runs once over what is due and reports how it ended.
func (a *app) reconcile(ctx context.Context, options fetch.RunOptions) error {
	end, thresholds, err := a.beginPing(ctx)
	if err != nil {
		return err
	}
	w, err := a.open(ctx)
	if err != nil {
		return end("", err)
	}
	defer w.close()
	if err := w.price.Fits(w.ledger.Tariff); err != nil {
		a.say("ingest: warning: %v", err)
	}
	rec := w.reconciler(a)
	shown := a.showRun(ctx, rec, w.store, options.Series)
	worked, err := rec.Run(ctx, options)
	shown()
	if err == nil {
		if err := a.checkNewest(ctx, w.store); err != nil {
			return end("", err)
		}
	}
	if left, err := w.ledger.Report(ctx); err == nil && thresholds != nil {
		thresholds.Check(ctx, left)
	}
	sum := summarise(worked, err)
	a.lookAhead(context.WithoutCancel(ctx), &sum, w, options.Series)
	var text strings.Builder
	sum.print(&text)
	return end(text.String(), a.reportRun(sum, err))
}

// showRun draws the progress of a run of the schedule on a terminal.
func (a *app) showRun(ctx context.Context, rec *fetch.Reconciler, s *store.Store, series []ingest.Series) (stop func()) {
	if a.quiet || a.json || !term.IsTerminal(a.stderr) {
		return func() {}
	}
	var mu sync.Mutex
	at := progress{Of: "slot"}
	rec.OnSlot = func(r fetch.SlotResult) {
		mu.Lock()
		defer mu.Unlock()
		at.Pieces, at.Units = at.Pieces+1, at.Units+r.Spent
	}
	return term.Repeat(ctx, drawEvery, func() {
		open := 0
		for _, state := range []ingest.State{ingest.Due, ingest.Claimed} {
			slots, err := s.ListSlots(ctx, store.SlotFilter{State: state, Until: a.clock.Now()})
			if err != nil {
				return
			}
			for _, slot := range slots {
				if slices.Contains(series, slot.Series()) {
					open++
				}
			}
		}
		mu.Lock()
		defer mu.Unlock()
		at.Total = at.Pieces + open
		a.draw(at)
	}, a.wipe(true))
}

// lookAhead adds to a summary when anything is next due, and which of these series wait for quota: a run that has not
// tried them, since nothing is left, was stopped all the same.
func (a *app) lookAhead(ctx context.Context, s *summary, w *fetchRuntime, series []ingest.Series) {
	now := a.clock.Now()
	pace, latest, err := a.paceNow(ctx, w.schedule, w.store, w.ledger.Report)
	if err != nil {
		return
	}
	s.pacing = pace.String()
	for _, slot := range pace.Schedule.Upcoming(latest, now, 1, "") {
		s.next = slot.DueAt
	}
	for of, slot := range pace.Schedule.Waiting(latest, now) {
		if slices.Contains(series, of) && slot.RetryAt.After(now) {
			s.wait(slot)
		}
	}
}

// checkNewest warns if the clock stands before the newest slot.
func (a *app) checkNewest(ctx context.Context, s *store.Store) error {
	newest, err := s.ListSlots(ctx, store.SlotFilter{Limit: 1})
	if err == nil && len(newest) > 0 && newest[0].DueAt.After(a.clock.Now().Add(ingest.ClockAhead)) {
		a.say("ingest: warning: the clock says %s, before the newest slot, of %s: slots in the future count for nothing; if the clock is right, ingest doctor --repair removes them",
			term.Stamp(a.clock.Now()), term.Stamp(newest[0].DueAt))
	}
	return err
}

// summary is how a run ended.
type summary struct {
	outcome ingest.State
	slots   []fetch.SlotResult
	retryAt time.Time           // the earliest of the stopped slots; zero: none
	units   int64               // of this run
	err     error               // that cut it short
	next    time.Time           // when anything is next due
	waiting map[ingest.Kind]int // slots that wait for quota, tried or not
	pacing  string              // how the schedule is stretched, and why; "": it is not
}

// summarise derives the outcome of a run from the slots it worked on: failed if anything failed, else stopped if quota
// was refused, else done.
func summarise(worked []fetch.SlotResult, err error) summary {
	s := summary{outcome: ingest.Done, slots: worked, err: err}
	for _, slot := range worked {
		s.units += slot.Spent
		switch {
		case slot.State == ingest.Failed:
			s.outcome = ingest.Failed
		case slot.State == ingest.Stopped && s.outcome == ingest.Done:
			s.outcome = ingest.Stopped
		}
		if slot.State == ingest.Stopped && (s.retryAt.IsZero() || slot.RetryAt.Before(s.retryAt)) {
			s.retryAt = slot.RetryAt
		}
	}
	if err != nil {
		s.outcome = ingest.Failed
	}
	return s
}

// wait counts a slot that waits for quota.
func (s *summary) wait(slot ingest.Slot) {
	if s.waiting == nil {
		s.waiting = map[ingest.Kind]int{}
	}
	s.waiting[slot.Kind]++
	if s.outcome == ingest.Done {
		s.outcome = ingest.Stopped
	}
	if s.retryAt.IsZero() || slot.RetryAt.Before(s.retryAt) {
		s.retryAt = slot.RetryAt
	}
}

// stopText says what quota has stopped, and until when: "stopped by quota: 8 charts wait until ...".
func (s summary) stopText() string {
	var what []string
	total := 0
	for _, kind := range []ingest.Kind{ingest.KindChart, ingest.KindSearch, ingest.KindRefresh} {
		noun := map[ingest.Kind]string{ingest.KindChart: "chart", ingest.KindSearch: "search job", ingest.KindRefresh: "refresh job"}[kind]
		if n := s.waiting[kind]; n > 0 {
			what, total = append(what, term.Plural(n, noun)), total+n
		}
	}
	if total == 0 {
		return "stopped by quota; what came in is kept; try again at " + term.StampFrom(s.retryAt)
	}
	verb := "wait"
	if total == 1 {
		verb = "waits"
	}
	return fmt.Sprintf("stopped by quota: %s %s until %s", strings.Join(what, " and "), verb, term.StampFrom(s.retryAt))
}

// reportRun prints the summary and returns the error for the exit code.
func (a *app) reportRun(s summary, err error) error {
	if a.json {
		if printErr := a.printJSON(s.document()); printErr != nil {
			return errors.Join(err, printErr)
		}
	} else if !a.quiet && (err == nil || len(s.slots) > 0) {
		s.print(a.stdout)
	}
	if a.quiet {
		for _, slot := range s.slots {
			if slot.State == ingest.Failed {
				a.tell(fmt.Sprintf("ingest: %s %s failed: %s", slot.Job, slot.Key, term.Clean(slot.Reason)))
			}
		}
	}
	return endOfRun(s.outcome, err)
}

// endOfRun returns the error that cut a run short, or else the exit code of its outcome.
func endOfRun(outcome ingest.State, err error) error {
	switch {
	case err != nil:
		return err
	case outcome == ingest.Failed:
		return codeError{exitPartial, nil}
	case outcome == ingest.Stopped:
		return codeError{exitStopped, nil}
	}
	return nil
}

type runDocument struct {
	Outcome ingest.State          `json:"outcome"`
	RetryAt *time.Time            `json:"retry_at"`
	NextAt  *time.Time            `json:"next_at"`
	Charges map[string]int64      `json:"charges"` // by pool, in this run
	Units   int64                 `json:"units"`   // of the pool units
	Regions []report.SlotDocument `json:"regions"`
	Jobs    []report.SlotDocument `json:"jobs"` // slots of other jobs
	Pacing  string                `json:"pacing,omitempty"`
}

func (s summary) document() runDocument {
	d := runDocument{Outcome: s.outcome, RetryAt: term.FromOrNull(s.retryAt), NextAt: term.FromOrNull(s.next), Charges: map[string]int64{},
		Regions: []report.SlotDocument{}, Jobs: []report.SlotDocument{}, Pacing: s.pacing}
	for _, slot := range s.slots {
		doc := report.NewSlotDocument(slot.Slot).Drew(slot.Spent, slot.Drew)
		d.Units += doc.Units
		for pool, n := range doc.Charges {
			d.Charges[pool] += n
		}
		if slot.Kind == ingest.KindChart {
			d.Regions = append(d.Regions, doc)
		} else {
			d.Jobs = append(d.Jobs, doc)
		}
	}
	return d
}

func (s summary) print(w io.Writer) {
	if len(s.slots) == 0 {
		if s.outcome == ingest.Stopped {
			fmt.Fprintln(w, s.stopText())
		} else {
			fmt.Fprintf(w, "nothing is due; next at %s\n", term.Stamp(s.next))
		}
		if s.pacing != "" {
			fmt.Fprintln(w, term.Wrap(s.pacing, term.Screen, "  "))
		}
		return
	}
	rows := make([][]string, 0, len(s.slots))
	for _, slot := range s.slots {
		rows = append(rows, []string{slot.Job, slot.Key, term.Stamp(slot.DueAt), string(slot.State),
			term.Plural(slot.Pages, "page"), term.Plural(slot.Videos, "video"), report.NewSlotDocument(slot.Slot).Drew(slot.Spent, slot.Drew).Spent()})
	}
	_ = term.FitTable(w, rows, 0)
	for _, line := range s.reasons() {
		fmt.Fprintln(w, term.Wrap(line, term.Screen, "  "))
	}
	if s.outcome == ingest.Stopped {
		fmt.Fprintln(w, s.stopText())
	}
}

// reasons returns why slots are not done, each reason once: "stopped GB, DE: units ...".
func (s summary) reasons() []string {
	type end struct {
		state  ingest.State
		reason string
	}
	var order []end
	names := map[end][]string{}
	for _, slot := range s.slots {
		if slot.Reason == "" || slot.State == ingest.Done || s.err != nil && strings.Contains(s.err.Error(), slot.Reason) {
			continue // the error says it
		}
		name := slot.Key
		if slot.Kind != ingest.KindChart {
			name = strings.TrimSpace(slot.Job + " " + slot.Key)
		}
		e := end{slot.State, slot.Reason}
		if names[e] == nil {
			order = append(order, e)
		}
		names[e] = append(names[e], name)
	}
	lines := make([]string, 0, len(order))
	for _, e := range order {
		lines = append(lines, fmt.Sprintf("%s %s: %s", e.state, strings.Join(names[e], ", "), e.reason))
	}
	return lines
}
