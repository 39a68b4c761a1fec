package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/fetch/youtube"
	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/store"
)

const fullDay = 24 * time.Hour

func (a *app) backfillPlanCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "plan",
		Short: "Price a backfill, and keep it as a plan; free but with --ask",
		Long: `plan says what a backfill costs, what is left for it today beside the schedule,
and how many days it will take. It spends nothing, but with --ask a call for
each channel; where a size is not known before the upstream is asked, the price
is a range, and the assumption is named. The plan is kept: run it by its id, or
by the same flags.`,
		Example: `  ingest backfill plan uploads @GoogleDevelopers UC_x5XG1OV2P6uZZ5FSM9Ttw
  ingest backfill plan search 'world cup' --from 2026-06-01 --to 2026-07-01
  ingest backfill plan videos ids.txt
  ingest backfill plan refresh --older-than 7d`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			return usageError{errors.New("plan what? The kinds are uploads, search, videos and refresh")}
		},
	}
	cmd.AddCommand(a.kindCommands("plan", a.planBackfill)...)
	return cmd
}

// planBackfill prices what is wanted, and keeps it.
func (a *app) planBackfill(ctx context.Context, want wanted) error {
	if err := a.checkClock(ctx); err != nil {
		return err
	}
	open := a.openForPlanning
	if want.ask {
		open = a.open // what is sent needs a key
	}
	w, err := open(ctx)
	if err != nil {
		return err
	}
	defer w.close()
	p, err := a.planned(ctx, w, want)
	if err != nil {
		return err
	}
	if err := a.reprice(ctx, w, p); err != nil {
		return err
	}
	doc := p.document()
	if a.json {
		return a.printJSON(doc)
	}
	return doc.print(a.stdout)
}

// planned is a backfill that is kept, with its price and what there is to pay it with.
type planned struct {
	store.BackfillStatus
	outlook

	unknown bool // what is left: the ledger cannot answer

	zone  *time.Location
	price backfillPrice   // of what is still to do
	call  quota.Cost      // what a call draws at most
	table string          // that it is priced under now; BackfillStatus has that which it was planned under
	asked quota.Cost      // spent to ask for sizes
	ids   *youtube.IDList // that were read for it just now; nil: none were
	found bool            // it had been planned before
}

// planned finds the plan of the same flags, or makes it. One that found nothing to fetch is made again: there
// may be something by now.
func (a *app) planned(ctx context.Context, w *fetchRuntime, want wanted) (*planned, error) {
	tariff := w.governor.Tariff
	if _, err := tollsOf(want.kind, w.upstream, tariff); err != nil {
		return nil, err
	}
	b := ingest.Backfill{Kind: want.kind, Spec: want.spec, Table: tariff.Table, Created: a.clock.Now()}
	status, err := w.store.FindBackfill(ctx, b.Identity())
	found := err == nil && len(status.Pieces) > 0 && (!want.again || status.Open() > 0)
	if err != nil && !errors.Is(err, store.ErrNoBackfill) {
		return nil, err
	}
	if !found {
		added, _, err := w.store.AddBackfill(ctx, b, want.pieces(ctx, w.store))
		if err != nil {
			return nil, err
		}
		if status, err = w.store.FindBackfill(ctx, added.ID); err != nil {
			return nil, err
		}
	}
	p, err := a.priced(ctx, w, status)
	if err != nil {
		return nil, err
	}
	p.ids, p.found = want.ids, found
	if want.ask {
		err = a.ask(ctx, w, p)
	}
	return p, err
}

// priced is the plan with the price of what is still to do, under today's table.
func (a *app) priced(ctx context.Context, w *fetchRuntime, status store.BackfillStatus) (*planned, error) {
	tariff := w.governor.Tariff
	p := &planned{BackfillStatus: status, zone: tariff.Zone, table: tariff.Table}
	if err := a.reckon(ctx, w, p); err != nil {
		return nil, err
	}
	n, err := needed(ctx, w.store, w.plan, w.upstream, tariff, a.clock.Now())
	if err != nil {
		return nil, fmt.Errorf("find what the schedule still needs: %w", err)
	}
	report, err := w.governor.Report(ctx)
	if p.unknown = errors.Is(err, quota.ErrUnavailable); err != nil && !p.unknown {
		return nil, err
	}
	p.outlook = outlookOf(report, n, w.price.total, tariff)
	return p, nil
}

// reprice says, once, that the plan was made under another table of costs.
func (a *app) reprice(ctx context.Context, w *fetchRuntime, p *planned) error {
	if p.Table == p.table {
		return nil
	}
	a.say("ingest: %s was priced under cost table %s; now it is under %s", p.ID, p.Table, p.table)
	return w.store.Reprice(ctx, p.ID, p.table)
}

// reckon prices what is still to do, as far as its size is known.
func (a *app) reckon(ctx context.Context, w *fetchRuntime, p *planned) error {
	tolls, err := tollsOf(p.Kind, w.upstream, w.governor.Tariff)
	if err != nil {
		return err
	}
	sizes, err := w.store.OpenSizes(ctx, p.ID)
	if err != nil {
		return err
	}
	p.price = tolls.price(p.Kind, size{pieces: p.Open(), sizes: slices.Collect(maps.Values(sizes))})
	p.call = tolls.dearest()
	return nil
}
