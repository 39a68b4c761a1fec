package main

import (
	"context"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/internal/report"
	"github.com/trendvidstream/ingest/internal/term"
	"github.com/trendvidstream/ingest/store"
)

func newBackfillLine(b store.BackfillStatus) report.PlanLine {
	l := report.PlanLine{
		ID: b.ID, Kind: b.Kind, What: report.BackfillText(b.Backfill), Outcome: b.State(), Wait: b.Wait,
		Pieces: map[string]int{"total": 0}, Units: b.Units, Videos: b.Videos, Vanished: b.Vanished,
	}
	for state, n := range b.Pieces {
		l.Pieces[string(state)] = n
		l.Pieces["total"] += n
	}
	return l
}

// document returns the plan without failures.
func (p *pricedBackfill) document() report.PlanDocument {
	d := report.PlanDocument{
		PlanLine: newBackfillLine(p.BackfillStatus), CreatedAt: term.Second(p.Created), Cancelled: term.TimeOrNull(p.Cancelled),
		Table: p.table, Under: p.Table, Known: p.Known, GivenUp: p.GivenUp, Waiting: p.Waiting, Again: p.Again,
		RetryAt: term.FromOrNull(p.RetryAt), LastAt: term.TimeOrNull(p.LastAt), Held: term.FromOrNull(p.HeldUntil), Found: p.found,
		Price: map[string]report.Range{}, Assuming: p.assuming, Asked: p.asked, Today: report.PlanToday{Until: term.Second(p.Until), Left: map[string]int64{}, Kept: map[string]int64{}},
		Likely: p.estimate.Likely(p.DoneUnits, p.Pieces[ingest.Done], p.Open()),
	}
	if p.Kind == ingest.BackfillSearch {
		d.Order = p.Spec.Order
	}
	for pool := range p.perCall {
		d.Price[pool] = report.Range{Low: p.estimate.Low[pool], High: p.estimate.High[pool]}
		d.Today.Kept[pool] = p.Rest[pool]
		if !p.degraded {
			d.Today.Left[pool] = p.Left[pool]
		}
	}
	low, ok := p.Days(p.estimate.Low, p.perCall)
	if high, allOK := p.Days(p.estimate.High, p.perCall); ok && allOK && p.Open() > 0 && !p.degraded {
		d.Days = &report.Range{Low: int64(low), High: int64(high)}
		d.EndsAt = term.FromOrNull(p.Ends(high))
	}
	if err := p.Never(p.estimate.High, p.perCall); err != nil {
		d.Never = err.Error()
	}
	if p.ids != nil {
		d.IDs, d.Repeated, d.Wrong, d.Rejected = len(p.ids.IDs), p.ids.Repeated, p.ids.Wrong, shownLines(p.ids.Rejected)
	}
	return d
}

// backfillDocument returns the present state of a backfill, with its first failures.
func (a *app) backfillDocument(ctx context.Context, w *fetchRuntime, id string) (report.PlanDocument, error) {
	const failuresShown = 10 // retry covers all of them
	status, err := findBackfill(ctx, w.store, id)
	if err != nil {
		return report.PlanDocument{}, err
	}
	p, err := a.priceBackfill(ctx, w, status)
	if err != nil {
		return report.PlanDocument{}, err
	}
	d := p.document()
	failures, err := w.store.FailedPieces(ctx, p.ID, failuresShown)
	for _, f := range failures {
		d.Failures = append(d.Failures, report.PlanFailure(f))
	}
	return d, err
}
