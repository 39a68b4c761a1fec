package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/fetch"
	"github.com/trendvidstream/ingest/internal/audit"
	"github.com/trendvidstream/ingest/internal/term"
	"github.com/trendvidstream/ingest/quota"
)

// checkLost keeps the gate closed where the ledger lacks what the store's slots spent. A remote ledger that
// this data directory has synced with before gets what it lacks from the journal, and needs no check.
func (a *app) checkLost(ctx context.Context, g *quota.Governor) error {
	if replays, err := g.Reserve.Replays(ctx, g.Account); err != nil || replays {
		return err
	}
	account := auditOf(g)
	slots, err := a.spentSlots(ctx, account.MissingSince())
	if err != nil {
		return err
	}
	missing, err := account.Missing(ctx, slots)
	if errors.Is(err, quota.ErrUnavailable) {
		return nil // every take will say so
	}
	if err != nil || len(missing) == 0 {
		return err
	}
	return codeError{exitUnavailable, fmt.Errorf("%w: the slots in %s spent %s units lately that the ledger of account %s does not know: "+
		"put %s back as it was, or count them again with ingest quota rebuild", quota.ErrClosed, a.cfg.Data, term.Thousands(audit.Units(missing)), g.Account, ledgerFile)}
}

func auditOf(g *quota.Governor) audit.Account {
	return audit.Account{Ledger: g.Ledger, Name: g.Account, Now: g.Now(), Horizon: g.Tariff.Horizon()}
}

// spentSlots are the store's SpentSlots, none where there is no store.
func (a *app) spentSlots(ctx context.Context, since time.Time) ([]ingest.Slot, error) {
	s, err := a.store(ctx, "")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = s.Close() }()
	return s.SpentSlots(ctx, since)
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
	lacking, err := account.Rebuild(ctx, spent)
	if err != nil {
		return 0, err
	}
	if len(lacking) == 0 && len(spent) > 0 {
		return 0, codeError{exitError, fmt.Errorf("the ledger of account %s knows all that the slots in %s spent: nothing to rebuild; correct it with ingest quota post", g.Account, a.cfg.Data)}
	}
	methods := map[string][]string{}
	for _, s := range lacking {
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
