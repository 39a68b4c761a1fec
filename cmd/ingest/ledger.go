package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/redisledger"
	"github.com/trendvidstream/ingest/quota/sqliteledger"
	"github.com/trendvidstream/ingest/store"
)

// ledgerFile is the ledger itself or, beside a Redis, the journal of this data directory.
const ledgerFile = "quota.db"

// longestInterval is how long after its due time a slot may still spend.
const longestInterval = 25 * time.Hour

// governor opens the ledger. It must be closed by the returned function. Where the ledger is lost, the
// gate is closed.
func (a *app) governor(ctx context.Context) (*quota.Governor, func(), error) {
	g, local, closeAll, err := a.openLedger(ctx)
	if err != nil {
		return nil, nil, err
	}
	if g.Ledger == quota.Ledger(local) {
		if err := a.checkLost(ctx, g, local); err != nil {
			closeAll()
			return nil, nil, err
		}
	}
	return g, closeAll, nil
}

// openLedger opens the ledger and this data directory's own file, which may be the same.
func (a *app) openLedger(ctx context.Context) (*quota.Governor, *sqliteledger.Ledger, func(), error) {
	tariff, err := a.tariff()
	if err != nil {
		return nil, nil, nil, err
	}
	remote, err := a.remoteLedger(ctx)
	if err != nil {
		return nil, nil, nil, err
	}
	closeAll := func() {
		if remote != nil {
			_ = remote.Close()
		}
	}
	if err := os.MkdirAll(a.cfg.data, 0o700); err != nil {
		closeAll()
		return nil, nil, nil, badConfig(fmt.Errorf("make the data directory: %w: give another --data", err))
	}
	local, err := sqliteledger.Open(ctx, filepath.Join(a.cfg.data, ledgerFile))
	if err != nil {
		closeAll()
		return nil, nil, nil, err
	}
	local.Now = a.clock.now
	g := &quota.Governor{Ledger: local, Journal: local, Tariff: tariff, Account: a.cfg.account, Now: a.clock.now, Log: a.log()}
	if remote != nil {
		g.Ledger = remote
	}
	return g, local, func() { closeAll(); _ = local.Close() }, nil
}

// remoteLedger is the Redis that the config names, nil for sqlite. Nothing is sent yet.
func (a *app) remoteLedger(ctx context.Context) (*redisledger.Ledger, error) {
	if a.cfg.ledger == "sqlite" {
		return nil, nil //nolint:nilnil // none is wanted
	}
	if !strings.Contains(a.cfg.ledger, "://") {
		return nil, badConfig(fmt.Errorf("ledger %q is not known: use sqlite or redis://host:port/db", ledgerName(a.cfg.ledger)))
	}
	l, err := redisledger.Open(ctx, a.cfg.ledger, redisledger.Options{})
	return l, badConfig(err)
}

// checkLost keeps the gate closed where the store shows units spent but the ledger that counted them
// knows of none: a ledger that forgets would let the same quota be spent again.
func (a *app) checkLost(ctx context.Context, g *quota.Governor, local *sqliteledger.Ledger) error {
	empty, err := local.Empty(ctx, g.Account)
	if err != nil || !empty {
		return err
	}
	spent, err := a.spentByStore(ctx, g.Tariff)
	if err != nil {
		return err
	}
	units := int64(0)
	for _, slot := range spent {
		units += slot.Units
	}
	if units == 0 {
		return nil
	}
	return codeError{exitUnavailable, fmt.Errorf("%w: what %s counted for account %s is gone from %s, but the slots there spent %s units lately: put it back, or count them again with ingest quota rebuild",
		quota.ErrClosed, ledgerFile, g.Account, a.cfg.data, thousands(units))}
}

// spentByStore is the slots that spent quota within the longest window, by the store's own account.
func (a *app) spentByStore(ctx context.Context, tariff *quota.Tariff) ([]ingest.Slot, error) {
	s, err := a.store(ctx, "")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = s.Close() }()
	since := a.clock.now().Add(-tariff.Horizon())
	// A slot may be fetched after it was due, but not after the next of its series: a day or so.
	slots, err := s.ListSlots(ctx, store.SlotFilter{Since: since.Add(-longestInterval)})
	var spent []ingest.Slot
	for _, slot := range slots {
		if slot.Units > 0 && (slot.State != ingest.Done || slot.FetchedAt.After(since)) {
			spent = append(spent, slot)
		}
	}
	return spent, err
}

// rebuild makes a lost ledger anew from what the store's slots say they spent. What was drawn by hand
// is not known to the store, and neither is what a run that was killed had taken for its last page. It
// is posted under another account first, so that a rebuild that dies leaves the gate closed.
func (a *app) rebuild(ctx context.Context) (slots int, err error) {
	g, local, closeAll, err := a.openLedger(ctx)
	if err != nil {
		return 0, err
	}
	defer closeAll()
	if g.Ledger != quota.Ledger(local) {
		return 0, usageError{errors.New("rebuild is for --ledger sqlite: a Redis keeps its own log")}
	}
	empty, err := local.Empty(ctx, g.Account)
	if err != nil {
		return 0, err
	}
	if !empty {
		return 0, codeError{exitError, fmt.Errorf("%s has a log of account %s: nothing to rebuild; correct it with ingest quota post", ledgerFile, g.Account)}
	}
	spent, err := a.spentByStore(ctx, g.Tariff)
	if err != nil || len(spent) == 0 {
		return 0, err
	}
	draft := *g
	draft.Account = "rebuild-" + rand.Text()[:16]
	for _, slot := range spent {
		who, cost, at, err := spentBy(slot, g)
		if err != nil {
			return 0, err
		}
		if err := draft.Post(ctx, who, cost, at); err != nil {
			return 0, err
		}
	}
	return len(spent), local.Adopt(ctx, draft.Account, g.Account)
}

// spentBy is what a slot spent, and when: at its last page where it is done, and otherwise, since it
// may have tried since, now. Later than it was is safe.
func spentBy(slot ingest.Slot, g *quota.Governor) (quota.Who, quota.Cost, time.Time, error) {
	const method = "videos.list" // all that a slot of today's kinds calls
	who := quota.Who{Purpose: quota.Scheduled, Region: slot.Key, Method: method}
	if slot.Kind == ingest.KindRefresh {
		who.Purpose = quota.Refresh
	}
	at := g.Now()
	if slot.State == ingest.Done {
		at = slot.FetchedAt
	}
	cost, err := g.Tariff.Cost(method)
	if err != nil {
		return who, nil, at, err
	}
	dearest := int64(1) // a slot counts the dearest pool of each call
	for _, amount := range cost {
		dearest = max(dearest, amount)
	}
	return who, cost.Times((slot.Units + dearest - 1) / dearest), at, nil
}
