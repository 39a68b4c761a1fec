package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/fetch"
	"github.com/trendvidstream/ingest/internal/config"
	"github.com/trendvidstream/ingest/internal/report"
	"github.com/trendvidstream/ingest/internal/standing"
	"github.com/trendvidstream/ingest/internal/term"
	"github.com/trendvidstream/ingest/quota"
)

func (a *app) runCommand() *cobra.Command {
	var only []ingest.Region
	var options fetch.RunOptions
	var zero bool
	cmd := command("run", "Fetch the due slots now, and exit: for cron and timers", noArgs,
		func(ctx context.Context, _ []string) error {
			a.cfg.ZeroOnStop = a.cfg.ZeroOnStop || zero
			if most := a.provider().calls.Limits().ChartPages; options.Pages > most {
				return usageError{fmt.Errorf("--pages %d is outside 1..%d", options.Pages, most)}
			}
			if err := a.selectSeries(&options, only); err != nil {
				return err
			}
			return a.reconcile(ctx, options)
		})
	cmd.Flags().Var(config.RegionsFlag(&only), "region", "only these `regions`, such as US,GB")
	cmd.Flags().Var(config.Count(&options.Pages, 1, 0), "pages", "fetch at most `N` pages of each chart")
	cmd.Flags().BoolVar(&zero, "exit-zero-on-stop", false,
		"exit with 0 instead of 75 if quota stopped it (INGEST_STOP_EXIT=0)")
	cmd.Flags().BoolVar(&a.newStore, "accept-new-store", false,
		"make a new store, although quota.db shows that there was one")
	cmd.Flags().BoolVar(&options.Force, "force", false, "fetch the charts now, due or not, as purpose manual")
	return cmd
}

// selectSeries sets the series that a run works on: everything configured, or only these regions.
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

func (a *app) reconcile(ctx context.Context, options fetch.RunOptions) error {
	end, err := a.beginPing(ctx)
	if err != nil {
		return err
	}
	w, err := a.open(ctx)
	if err != nil {
		return end("", err)
	}
	defer w.close()
	if warning, err := a.unfit(w.price, w.ledger.Tariff); warning != "" || err != nil {
		a.say("ingest: warning: %s", cmp.Or(warning, fmt.Sprint(err)))
	}
	rec := w.reconciler(a)
	rec.Workers = a.workersFor(ctx, w)
	shown := a.showRun(ctx, rec, w.store, options.Series)
	worked, err := rec.Run(ctx, options)
	shown()
	a.warnOfStore(ctx, w.store)
	sum := summarise(worked, err)
	st, unknown := a.stand(context.WithoutCancel(ctx), w.store, nil, w.ledger.report)
	if unknown == nil && st.StoreErr == nil {
		sum.Ending = st.Ending(sum.Ending, options.Series, w.price.Total, options.Force)
	}
	var text strings.Builder
	sum.Print(&text)
	defer a.sender(w.store).SendAtEnd(ctx, st.Now, st.Situations())
	return end(text.String(), a.reportRun(sum, err))
}

// workersFor returns how many slots a run works on at once. If the quota left does not cover a day of the schedule, it
// is one, so that the least fresh chart is completed before another is begun.
func (a *app) workersFor(ctx context.Context, w *fetchRuntime) int {
	left, err := w.ledger.Report(ctx)
	if err != nil || left.Degraded != nil {
		return 1
	}
	for _, p := range left.Pools {
		if p.Remaining[quota.Scheduled] < w.price.Total[p.Pool] {
			return 1
		}
	}
	return a.cfg.Concurrency
}

// summarise sums up a run from its slots and the error that cut it short.
func summarise(worked []ingest.SlotResult, err error) report.Run {
	r := report.Run{Ending: standing.Ending{Outcome: ingest.Done}, Err: err}
	for _, w := range worked {
		r.Add(w)
	}
	if err != nil {
		r.Outcome = ingest.Failed
	}
	return r
}

// reportRun prints the summary and returns the error for the exit code.
func (a *app) reportRun(s report.Run, err error) error {
	if a.json {
		if printErr := a.printJSON(s.Document()); printErr != nil {
			return errors.Join(err, printErr)
		}
	} else if !a.quiet && (err == nil || len(s.Slots) > 0) {
		s.Print(a.stdout)
	}
	if a.quiet {
		for _, slot := range s.Slots {
			if slot.State == ingest.Failed {
				a.tell(fmt.Sprintf("ingest: %v failed: %s", slot.Series(), term.Clean(slot.Reason)))
			}
		}
	}
	return a.endOfRun(s.Outcome, err)
}

// endOfRun returns the error that cut a run short, or else the exit code of its outcome.
func (a *app) endOfRun(outcome ingest.State, err error) error {
	switch {
	case err != nil:
		return err
	case outcome == ingest.Stopped && a.cfg.ZeroOnStop:
		return nil
	}
	return endWith(standing.ExitCode(outcome), nil)
}
