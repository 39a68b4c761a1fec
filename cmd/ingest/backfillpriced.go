package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/fetch"
	"github.com/trendvidstream/ingest/fetch/youtube"
	"github.com/trendvidstream/ingest/internal/budget"
	"github.com/trendvidstream/ingest/internal/config"
	"github.com/trendvidstream/ingest/internal/report"
	"github.com/trendvidstream/ingest/internal/term"
	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/store"
)

// pricedBackfill is a stored plan with its price and the quota that is left to pay for it.
type pricedBackfill struct {
	store.BackfillStatus
	budget.Outlook
	degraded bool // the ledger cannot answer, so the rest of the quota is unknown

	costs    budget.CallCosts
	estimate budget.Estimate // of the remaining work
	assuming string          // the estimate's assumption; "" if it is exact
	perCall  quota.Cost      // the most that one call costs
	upkeep   budget.Upkeep
	table    string          // the cost table of this price; Table is the plan's table
	asked    quota.Cost      // spent to ask channels for their sizes
	ids      *youtube.IDList // the ids just read for it; nil: none
	rejected []report.RejectedLine
	found    bool // it had been planned before
	added    bool // it was planned just now
}

// findOrAdd finds the plan with the same flags, or adds one. A plan without pieces is made again: there may be
// something to fetch by now.
func (a *app) findOrAdd(ctx context.Context, w *fetchRuntime, request backfillRequest) (*pricedBackfill, error) {
	tariff := w.ledger.Tariff
	if _, err := budget.BackfillCalls(request.kind, w.upstream, tariff); err != nil {
		return nil, config.Invalid(err)
	}
	b := ingest.Backfill{Kind: request.kind, Spec: request.spec, Table: tariff.Table, Created: a.clock.Now()}
	status, err := w.store.FindBackfill(ctx, b.Identity())
	found := err == nil && len(status.Pieces) > 0 && (!request.again || status.Open() > 0)
	if err != nil && !errors.Is(err, store.ErrNoBackfill) {
		return nil, err
	}
	if !found {
		added, _, err := w.store.AddBackfill(ctx, b, request.pieces(ctx, w.store))
		if err != nil {
			return nil, err
		}
		if status, err = w.store.FindBackfill(ctx, added.ID); err != nil {
			return nil, err
		}
	}
	p, err := a.priceBackfill(ctx, w, status)
	if err != nil {
		return nil, err
	}
	p.ids, p.rejected, p.found, p.added = request.ids, request.rejected, found, !found
	return p, nil
}

// priceBackfill returns the plan with the price of its remaining work under today's cost table.
func (a *app) priceBackfill(ctx context.Context, w *fetchRuntime,
	status store.BackfillStatus) (*pricedBackfill, error) {
	p := &pricedBackfill{BackfillStatus: status, table: w.ledger.Tariff.Table}
	if err := p.price(ctx, w); err != nil {
		return nil, err
	}
	reserve, err := w.reserve(ctx, a)
	if err != nil {
		return nil, err
	}
	report, err := w.ledger.Report(ctx)
	if p.degraded = errors.Is(err, quota.ErrUnavailable); err != nil && !p.degraded {
		return nil, err
	}
	p.Outlook = budget.NewOutlook(report, reserve, w.price, w.ledger.Tariff)
	return p, nil
}

// reprice refuses a plan that could never end, however long one waits, and cancels it if it was just added. It says
// once that the plan was priced under another cost table.
func (a *app) reprice(ctx context.Context, w *fetchRuntime, p *pricedBackfill) error {
	if never := p.Never(p.estimate.Low.Cost, p.perCall); never != nil && !p.degraded {
		if p.added {
			_, err := w.store.CancelBackfill(ctx, p.ID, a.clock.Now())
			never = errors.Join(never, err)
		}
		return fmt.Errorf("%s: %w", report.BackfillText(p.Backfill), never)
	}
	if p.Table == p.table {
		return nil
	}
	a.say("ingest: %s was priced under cost table %s; now it is under %s", p.ID, p.Table, p.table)
	return w.store.Reprice(ctx, p.ID, p.table)
}

// price estimates the cost of the remaining work from the sizes that are known.
func (p *pricedBackfill) price(ctx context.Context, w *fetchRuntime) error {
	costs, err := budget.BackfillCalls(p.Kind, w.upstream, w.ledger.Tariff)
	if err != nil {
		return config.Invalid(err)
	}
	known, err := w.store.OpenSizes(ctx, p.ID)
	if err != nil {
		return err
	}
	size := budget.Size{Pieces: p.Open(), Channels: slices.Collect(maps.Values(known))}
	if p.Kind == ingest.BackfillSearch {
		if size.Open, size.Listed, err = w.store.SearchPieces(ctx, p.ID); err != nil {
			return err
		}
	}
	p.costs, p.estimate, p.perCall = costs, costs.Estimate(size), costs.PerCall()
	p.upkeep = w.schedule.Upkeep(p.Spec.Upkeep, p.estimate)
	p.assuming = assumption(p.Kind, size, w.upstream.Limits())
	return nil
}

// assumption returns the assumption of a backfill's estimate; "" if it is exact.
func assumption(kind ingest.BackfillKind, size budget.Size, l fetch.Limits) string {
	switch {
	case kind == ingest.BackfillSearch:
		return fmt.Sprintf("each slice of time finds 1 to %d videos; "+
			"if there are more, the run stops at the upper price and asks again", l.SearchPages*l.PerPage)
	case kind == ingest.BackfillUploads && size.Pieces > len(size.Channels):
		return fmt.Sprintf("each channel has 1 to %s videos; plan with --ask asks them, for a call each",
			term.Thousands(int64(l.Uploads)))
	}
	return ""
}
