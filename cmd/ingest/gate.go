package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/internal/audit"
	"github.com/trendvidstream/ingest/internal/term"
	"github.com/trendvidstream/ingest/quota"
)

// governor opens the ledger. It must be closed by the returned function. Where the ledger is lost, the
// gate is closed.
func (a *app) governor(ctx context.Context) (*quota.Governor, func(), error) {
	g, closeAll, err := a.openLedger(ctx)
	if err != nil {
		return nil, nil, err
	}
	if err := a.checkLost(ctx, g); err != nil {
		closeAll()
		return nil, nil, err
	}
	return g, closeAll, nil
}

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
	return codeError{exitUnavailable, fmt.Errorf("%w: the slots in %s recently spent %s units that the ledger of account %s does not know: "+
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
