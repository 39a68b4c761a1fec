package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/fetch"
	"github.com/trendvidstream/ingest/internal/term"
)

func (a *app) quotaRebuildCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "rebuild",
		Short: "Rebuild a lost quota.db from what the store says was spent",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			n, err := a.rebuild(cmd.Context())
			if err != nil {
				return err
			}
			a.say("ingest: counted the spends of %s again", term.Plural(n, "slot"))
			return a.withGovernor(cmd.Context(), a.quotaReport)
		},
	}
}

// rebuild posts what the ledger lacks of what the store's slots spent. Cut short, it goes on when called
// again. The store does not know what was drawn by hand, nor what a run that was killed had taken for its
// last page.
func (a *app) rebuild(ctx context.Context) (slots int, err error) {
	g, closeAll, err := a.openLedger(ctx)
	if err != nil {
		return 0, err
	}
	defer closeAll()
	account := auditOf(g)
	spent, err := a.spentSlots(ctx, account.RebuildSince())
	if err != nil {
		return 0, err
	}
	missing, err := account.Rebuild(ctx, spent)
	if err != nil {
		return 0, err
	}
	if len(missing) == 0 && len(spent) > 0 {
		return 0, codeError{exitError, fmt.Errorf("the ledger of account %s knows all that the slots in %s spent: nothing to rebuild; correct it with ingest quota post", g.Account, a.cfg.Data)}
	}
	methods := map[string][]string{}
	for _, s := range missing {
		job := s.Slot.Job
		if methods[job] == nil {
			if methods[job], err = a.slotMethods(ctx, s.Slot); err != nil {
				return slots, err
			}
		}
		p, err := s.Posting(methods[job], g.Tariff, g.Now())
		if err != nil {
			return slots, err
		}
		if err := g.Post(ctx, p.Who, p.Cost, p.At); err != nil {
			return slots, err
		}
		slots++
	}
	return slots, nil
}

// slotMethods are the methods that a slot calls.
func (a *app) slotMethods(ctx context.Context, slot ingest.Slot) ([]string, error) {
	id, piece := ingest.IsBackfillJob(slot.Job)
	if !piece {
		calls, err := fetch.JobCalls(a.provider().calls, ingest.Job{Kind: slot.Kind})
		return calls.Methods(), err
	}
	s, err := a.store(ctx, "")
	if err != nil {
		return nil, err
	}
	defer func() { _ = s.Close() }()
	b, err := s.FindBackfill(ctx, id)
	if err != nil {
		return nil, err
	}
	calls, err := fetch.BackfillCalls(a.provider().calls, b.Kind)
	return calls.Methods(), err
}
