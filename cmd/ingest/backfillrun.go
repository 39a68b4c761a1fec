package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/fetch"
	"github.com/trendvidstream/ingest/internal/config"
	"github.com/trendvidstream/ingest/internal/report"
	"github.com/trendvidstream/ingest/internal/term"
	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/store"
)

// freeUnits is the most that a run may spend without --yes: the price of five searches.
const freeUnits = 500

// backfillRun holds the flags of a run.
type backfillRun struct {
	maxUnits    int64
	until       string
	concurrency int
	yes, wait   bool

	deadline time.Time    // from until; zero: none
	order    ingest.Order // "": as planned
}

func (a *app) backfillRunCommand() *cobra.Command {
	r := &backfillRun{}
	cmd := command("run ID", "Fetch the videos of a plan, as far as quota goes",
		orAsk(cobra.ExactArgs(1), "run what? Give the id of a plan, which ingest backfill status lists, "+
			"or a kind and its flags"), func(ctx context.Context, args []string) error {
			return a.runBackfill(ctx, *r, func(ctx context.Context, w *fetchRuntime) (*pricedBackfill, error) {
				status, err := findBackfill(ctx, w.store, args[0])
				if err != nil {
					return nil, err
				}
				return a.priceBackfill(ctx, w, status)
			})
		})
	cmd.Flags().Var(orderFlag(&r.order), "order", "`order` of a search's slices: newest or oldest first")
	f := cmd.PersistentFlags()
	f.Var(config.Count(&r.maxUnits, 1, 0), "max-units", "spend at most `N` units in this run")
	f.StringVar(&r.until, "until", "", "stop at this `time`: RFC 3339, or a length of time from now such as 2h")
	f.Var(config.Count(&r.concurrency, 1, config.MaxConcurrency), "concurrency",
		"`N` pieces at once (concurrency: of the config)")
	f.BoolVar(&r.yes, "yes", false, fmt.Sprintf("spend more than %d units without asking", freeUnits))
	f.BoolVar(&r.wait, "wait", false, "let ingest serve carry it on whenever quota allows")
	cmd.AddCommand(a.kindCommands("run", func(ctx context.Context, request backfillRequest) error {
		r.order = request.spec.Order
		return a.runBackfill(ctx, *r, func(ctx context.Context, w *fetchRuntime) (*pricedBackfill, error) {
			return a.preparePlan(ctx, w, request)
		})
	})...)
	return cmd
}

// check validates the flags of a run and fills in the values that follow from them.
func (r *backfillRun) check(a *app) error {
	r.concurrency = cmp.Or(r.concurrency, a.cfg.Concurrency)
	if r.until == "" {
		return nil
	}
	now := a.clock.Now()
	if d, err := time.ParseDuration(r.until); err == nil && d > 0 {
		r.deadline = now.Add(d)
		return nil
	}
	t, err := time.Parse(time.RFC3339, r.until)
	if err != nil || !t.After(now) {
		return usageError{fmt.Errorf("--until %q: use a time to come, such as 2h from now, or RFC 3339 such as %s",
			r.until, now.Add(2*time.Hour).UTC().Format(time.RFC3339))}
	}
	r.deadline = t
	return nil
}

// runBackfill finds the plan and works on it until it is done, quota is refused, or the run reaches one of its limits.
func (a *app) runBackfill(ctx context.Context, r backfillRun,
	find func(context.Context, *fetchRuntime) (*pricedBackfill, error)) error {
	if err := r.check(a); err != nil {
		return err
	}
	if err := a.canRefill(); err != nil {
		return err
	}
	w, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer w.close()
	p, err := find(ctx, w)
	if err != nil {
		return err
	}
	if !p.Cancelled.IsZero() {
		return fmt.Errorf("%s was cancelled at %s: plan it again", p.ID, term.Stamp(p.Cancelled))
	}
	if err := a.reprice(ctx, w, p); err != nil {
		return err
	}
	if err := a.confirm(ctx, w, p, r); err != nil {
		return err
	}
	if r.wait && !p.Wait {
		if err := w.store.SetWait(ctx, p.ID, true); err != nil {
			return err
		}
	}
	worked, err := a.passBackfill(ctx, w, p, r)
	defer a.sender(w.store).SendAtEnd(ctx, p.Created, nil)
	return a.reportBackfill(ctx, w, p, worked, err)
}

// confirm asks the user before a large spend, and stores the agreed amount: the plan's price, or --max-units of each
// pool. No run, nor serve, spends more without asking again.
func (a *app) confirm(ctx context.Context, w *fetchRuntime, p *pricedBackfill, r backfillRun) error {
	if p.Open() == 0 {
		return nil
	}
	units, most := p.estimate.High.Units, maps.Clone(p.estimate.High.Cost)
	if r.maxUnits > 0 {
		agreed := r.yes || units <= freeUnits
		units = min(units, r.maxUnits)
		for pool := range p.perCall {
			if most[pool] = max(most[pool], r.maxUnits); !agreed {
				most[pool] = r.maxUnits
			}
		}
	}
	if !r.yes && units > freeUnits {
		if err := a.ask(p, most); err != nil {
			return err
		}
	}
	return w.store.Confirm(ctx, p.ID, most)
}

func (a *app) ask(p *pricedBackfill, most quota.Cost) error {
	text := fmt.Sprintf("%s may spend %s", p.ID, term.Amounts(most))
	if p.assuming != "" {
		text += " (if " + p.assuming + ")"
	}
	if !term.IsTerminal(os.Stdin) || a.json || a.quiet {
		return usageError{fmt.Errorf("%s, in all more than %d: give --yes, or a --max-units of at most that",
			text, freeUnits)}
	}
	fmt.Fprintf(a.stderr, "%s.\nSpend them? [y/N] ", term.Wrap(text, 78, ""))
	answer, err := bufio.NewReader(os.Stdin).ReadString('\n')
	if err != nil || !strings.HasPrefix(strings.ToLower(strings.TrimSpace(answer)), "y") {
		return usageError{errors.New("nothing was spent; the plan is kept")}
	}
	return nil
}

func (a *app) passBackfill(ctx context.Context, w *fetchRuntime, p *pricedBackfill,
	r backfillRun) ([]ingest.SlotResult, error) {
	reserve := w.reserveCache(a)
	if err := reserve.Update(ctx); err != nil {
		return nil, err
	}
	b := p.Backfill
	if r.order != "" {
		b.Spec.Order = r.order
	}
	rec := w.reconciler(a)
	rec.Workers = r.concurrency
	rec.Reserve = reserve.Reserve
	if !r.deadline.IsZero() {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeoutCause(ctx, r.deadline.Sub(a.clock.Now()), errUntil)
		defer stop()
	}
	shown := a.showBackfill(ctx, w.store, p, r.maxUnits)
	defer shown()
	return rec.Run(ctx, fetch.RunOptions{Backfill: &b, MaxUnits: r.maxUnits})
}

// canRefill refuses an upstream that has no backfills.
func (a *app) canRefill() error {
	if a.provider().refills {
		return nil
	}
	return config.Invalid(fmt.Errorf("there are no backfills from %s: its charts are fetched by ingest run",
		a.cfg.Upstream))
}

// openForPricing opens the parts that pricing needs besides the store, which is open already.
func (a *app) openForPricing(ctx context.Context, s *store.Store) (*fetchRuntime, error) {
	schedule, price, err := a.pricedSchedule()
	if err != nil {
		return nil, err
	}
	w := &fetchRuntime{schedule: schedule, price: price, upstream: a.provider().calls, store: s}
	if w.ledger, err = a.openCheckedLedger(ctx, s.SpentSlots); err != nil {
		return nil, err
	}
	w.close = w.ledger.close
	return w, nil
}

func findBackfill(ctx context.Context, s *store.Store, id string) (store.BackfillStatus, error) {
	b, err := s.FindBackfill(ctx, id)
	if errors.Is(err, store.ErrNoBackfill) {
		hint := ""
		if !strings.HasPrefix(id, "bf-") {
			hint = ", and the kinds are uploads, search, videos and refresh"
		}
		return b, usageError{fmt.Errorf("there is no backfill %s: ingest backfill status lists them%s",
			term.Fit(id, 40), hint)}
	}
	return b, err
}

// errNoPlan is the error for an id when there is no store.
func errNoPlan(id string) error {
	return codeError{exitError,
		fmt.Errorf("there is no backfill %s: none is planned in this data directory", term.Fit(id, 40))}
}

// errUntil ends a run at its --until.
var errUntil = errors.New("the time of --until has come")

// reportBackfill reports how a run ended, and returns the error for its exit code.
func (a *app) reportBackfill(ctx context.Context, w *fetchRuntime, p *pricedBackfill,
	worked []ingest.SlotResult, ended error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	doc, err := a.backfillDocument(ctx, w, p.ID)
	if err != nil {
		return errors.Join(ended, err)
	}
	end := endOf(worked, ended, doc)
	switch {
	case a.json:
		err = a.printJSON(end)
	case a.quiet:
		for _, line := range end.Losses(summarise(worked, nil)) {
			a.tell("ingest: " + line)
		}
	default:
		end.Print(a.stdout)
	}
	switch {
	case err != nil:
		return errors.Join(ended, err)
	// not a limit that the user set
	case ended != nil && !errors.Is(ended, fetch.ErrMaxUnits) && !errors.Is(ended, errUntil):
		return ended
	case end.Outcome == ingest.Skipped:
		return codeError{exitError, nil}
	case end.Partial(), errors.Is(ended, fetch.ErrMaxCharges):
		return codeError{exitPartial, nil}
	}
	return a.endOfRun(end.Outcome, nil)
}

func endOf(worked []ingest.SlotResult, ended error, doc report.PlanDocument) report.BackfillEnd {
	run := summarise(worked, nil)
	var limit string
	switch {
	case errors.Is(ended, fetch.ErrMaxCharges):
		limit = fmt.Sprintf("it needs more than the confirmed amount (%s): about %s",
			term.Amounts(doc.Confirmed), doc.NeedText())
	case errors.Is(ended, fetch.ErrMaxUnits) && run.Units == 0:
		limit = "the next call costs more than --max-units allows"
	case errors.Is(ended, fetch.ErrMaxUnits), errors.Is(ended, errUntil), errors.As(ended, new(signalled)):
		limit = ended.Error()
	default:
		return report.NewBackfillEnd(run, doc, "", ended)
	}
	return report.NewBackfillEnd(run, doc, limit, nil)
}
