package main

import (
	"context"
	"errors"
	"io/fs"

	"github.com/spf13/cobra"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/internal/budget"
	"github.com/trendvidstream/ingest/internal/report"
	"github.com/trendvidstream/ingest/internal/term"
	"github.com/trendvidstream/ingest/store"
)

// backfillList is the JSON document of all backfills.
type backfillList struct {
	Backfills []report.PlanLine `json:"backfills"`
}

func (a *app) backfillStatusCommand() *cobra.Command {
	return command("status [ID]", "Show backfills: progress, quota spent, failures and their reasons",
		cobra.MaximumNArgs(1), func(ctx context.Context, args []string) error {
			s, err := a.store(ctx)
			if errors.Is(err, fs.ErrNotExist) {
				if len(args) == 0 {
					return a.printBackfills(nil)
				}
				return errNoPlan(args[0])
			}
			if err != nil {
				return err
			}
			defer func() { _ = s.Close() }()
			if len(args) == 1 {
				return a.printBackfill(ctx, s, args[0])
			}
			list, err := s.Backfills(ctx)
			if err != nil {
				return err
			}
			return a.printBackfills(list)
		})
}

// printBackfill prints one backfill with its price; the store may be open for reading only.
func (a *app) printBackfill(ctx context.Context, s *store.Store, id string) error {
	w, err := a.openForPricing(ctx, s)
	if err != nil {
		return err
	}
	defer w.close()
	doc, err := a.backfillDocument(ctx, w, id)
	if err != nil {
		return err
	}
	return a.show(doc)
}

func (a *app) printBackfills(list []store.BackfillStatus) error {
	lines := []report.PlanLine{}
	rows := [][]string{{"ID", "OUTCOME", "PIECES", "SPENT", "VIDEOS", "WHAT"}}
	for _, b := range list {
		l := newBackfillLine(b)
		lines = append(lines, l)
		total := l.Pieces["total"]
		rows = append(rows,
			[]string{l.ID, string(l.Outcome), term.Thousands(int64(total-b.Open())) + " of " + term.Thousands(int64(total)),
				report.SlotDocument{}.Drew(l.Units, l.Charges).Spent(), term.Thousands(int64(l.Videos)), l.What})
	}
	if a.json {
		return a.printJSON(backfillList{lines})
	}
	if len(list) == 0 {
		a.say("no backfill is planned: ingest backfill plan --help")
		return nil
	}
	term.FitTable(a.stdout, rows, len(rows[0])-1)
	for _, b := range list {
		if b.Pieces[ingest.Failed]+b.GivenUp > 0 {
			a.say("some of %s failed: ingest backfill status %s says why", b.ID, b.ID)
		}
		if b.Lacking+b.Spec.Rejected > 0 {
			a.say("%s is incomplete: ingest backfill status %s lists the incomplete pieces", b.ID, b.ID)
		}
	}
	return nil
}

func newBackfillLine(b store.BackfillStatus) report.PlanLine {
	l := report.PlanLine{
		ID: b.ID, Kind: b.Kind, What: report.BackfillText(b.Backfill), Outcome: b.State(b.Pieces), Wait: b.Wait,
		Pieces: map[string]int{"total": 0}, Units: b.Units, Charges: b.Charges, Lacking: b.Lacking,
		Videos: b.Videos, Vanished: b.Vanished,
	}
	for state, n := range b.Pieces {
		l.Pieces[string(state)] = n
		l.Pieces["total"] += n
	}
	return l
}

func (a *app) backfillDocument(ctx context.Context, w *fetchRuntime, id string) (report.PlanDocument, error) {
	status, err := findBackfill(ctx, w.store, id)
	if err != nil {
		return report.PlanDocument{}, err
	}
	p, err := a.priceBackfill(ctx, w, status)
	if err != nil {
		return report.PlanDocument{}, err
	}
	return a.planDocument(ctx, w, p)
}

// planDocument returns the plan with its first failures, and everything that it lacks.
func (a *app) planDocument(ctx context.Context, w *fetchRuntime, p *pricedBackfill) (_ report.PlanDocument, err error) {
	const failuresShown = 10 // retry covers all of them
	d := report.PlanDocument{
		PlanLine: newBackfillLine(p.BackfillStatus), CreatedAt: term.Second(p.Created),
		Cancelled: term.TimeOrNull(p.Cancelled),
		Table:     p.table, Under: p.Table, Known: p.Known, GivenUp: p.GivenUp, Waiting: p.Waiting, PaidTwice: p.PaidTwice,
		RetryAt: term.FromOrNull(p.RetryAt), LastAt: term.TimeOrNull(p.LastAt),
		ClaimedUntil: term.FromOrNull(p.LeasedUntil), Found: p.found,
		Price: map[string]budget.Range{}, Assuming: p.assuming, Asked: p.asked,
		Today:  report.PlanToday{Until: term.Second(p.Until), Left: map[string]int64{}, Kept: map[string]int64{}},
		Likely: p.estimate.Likely(p.DoneUnits, p.Pieces[ingest.Done], p.Open()),
	}
	if p.Kind == ingest.BackfillSearch {
		d.Order = p.Spec.Order
	}
	d.Incomplete, d.Confirmed, d.Exhausted, d.Lost, d.Upkeep = []report.PlanLack{}, p.Confirmed, p.Exhausted() &&
		p.Open() > 0, p.Lost, p.upkeep
	for pool := range p.perCall {
		d.Price[pool] = budget.Range{Low: p.estimate.Low.Cost[pool], High: p.estimate.High.Cost[pool]}
		d.Today.Kept[pool] = p.Today[pool]
		if !p.degraded {
			d.Today.Left[pool] = p.Left[pool]
		}
	}
	low, ok := p.Days(p.estimate.Low.Cost, p.perCall)
	if high, allOK := p.Days(p.estimate.High.Cost, p.perCall); ok && allOK && p.Open() > 0 && !p.degraded {
		d.Days = &budget.Range{Low: int64(low), High: int64(high)}
		d.EndsAt = term.FromOrNull(p.Ends(high))
	}
	if err := p.Never(p.estimate.High.Cost, p.perCall); err != nil {
		d.Never = err.Error()
	}
	if p.ids != nil {
		d.IDs, d.Repeated, d.Wrong, d.Rejected = len(p.ids.IDs), p.ids.Repeated, p.ids.Wrong, p.rejected
	}
	if d.Failures, err = w.store.FailedPieces(ctx, p.ID, failuresShown); err != nil {
		return d, err
	}
	if p.Open() == 0 && p.Pieces[ingest.Failed] > 0 {
		d.RetryCost, d.RepeatCost = p.costs.Estimate(budget.Size{Pieces: p.Pieces[ingest.Failed]}).Low.Units,
			p.costs.Estimate(budget.Size{Pieces: d.Pieces["total"]}).Low.Units
	}
	lacks, err := w.store.Lacks(ctx, p.ID, 0)
	if p.Spec.Rejected > 0 {
		lacks = append(lacks, p.Spec.Lack())
	}
	for _, l := range lacks {
		d.Incomplete = append(d.Incomplete, report.NewPlanLack(l))
	}
	return d, err
}
