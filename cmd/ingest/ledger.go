package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/redisledger"
	"github.com/trendvidstream/ingest/quota/sqliteledger"
	"github.com/trendvidstream/ingest/store"
)

// ledgerFile is the ledger itself or, beside a Redis, the journal of this data directory.
const ledgerFile = "quota.db"

// governor opens the ledger. It must be closed by the returned function.
func (a *app) governor(ctx context.Context) (*quota.Governor, func(), error) {
	tariff, err := a.tariff()
	if err != nil {
		return nil, nil, err
	}
	remote, err := a.remoteLedger(ctx)
	if err != nil {
		return nil, nil, err
	}
	if remote == nil {
		if err := a.checkLost(ctx, tariff); err != nil {
			return nil, nil, err
		}
	}
	if err := os.MkdirAll(a.cfg.data, 0o700); err != nil {
		return nil, nil, badConfig(fmt.Errorf("make the data directory: %w: give another --data", err))
	}
	local, err := sqliteledger.Open(ctx, filepath.Join(a.cfg.data, ledgerFile))
	if err != nil {
		return nil, nil, err
	}
	local.Now = a.clock.now
	g := &quota.Governor{Ledger: local, Journal: local, Tariff: tariff, Account: a.cfg.account, Now: a.clock.now, Log: a.log()}
	if remote == nil {
		return g, func() { _ = local.Close() }, nil
	}
	g.Ledger = remote
	return g, func() { _ = remote.Close(); _ = local.Close() }, nil
}

// remoteLedger is the Redis that the config names, nil for sqlite. Nothing is sent yet.
func (a *app) remoteLedger(ctx context.Context) (*redisledger.Ledger, error) {
	if a.cfg.ledger == "sqlite" {
		return nil, nil //nolint:nilnil // none is wanted
	}
	if !strings.Contains(a.cfg.ledger, "://") {
		return nil, badConfig(fmt.Errorf("ledger %q is not known: use sqlite or redis://host:port/db", a.cfg.ledger))
	}
	l, err := redisledger.Open(ctx, a.cfg.ledger, redisledger.Options{})
	return l, badConfig(err)
}

// checkLost keeps the gate closed where the store shows units spent but the ledger that counted them
// is gone: a ledger that forgets would let the same quota be spent again.
func (a *app) checkLost(ctx context.Context, tariff *quota.Tariff) error {
	if info, err := os.Stat(filepath.Join(a.cfg.data, ledgerFile)); err == nil && info.Size() > 0 {
		return nil
	}
	spent, err := a.spentByStore(ctx, tariff)
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
	return codeError{exitUnavailable, fmt.Errorf("%w: %s is gone from %s, but the slots there spent %s units lately: put it back, or count them again with ingest quota rebuild",
		quota.ErrClosed, ledgerFile, a.cfg.data, thousands(units))}
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
	// A slot may be fetched long after it was due, but not after the next of its series.
	slots, err := s.ListSlots(ctx, store.SlotFilter{Since: since.Add(-ingest.KeepFor)})
	var spent []ingest.Slot
	for _, slot := range slots {
		if slot.Units > 0 && (slot.FetchedAt.IsZero() || slot.FetchedAt.After(since)) {
			spent = append(spent, slot)
		}
	}
	return spent, err
}

// rebuild makes a lost ledger anew from what the store's slots say they spent, each at the time of its
// last page: later than it was, which is safe. What was drawn by hand is not known to the store. The
// new file takes its name last, so that a rebuild that dies leaves the gate closed.
func (a *app) rebuild(ctx context.Context) (slots int, err error) {
	tariff, err := a.tariff()
	if err != nil {
		return 0, err
	}
	path := filepath.Join(a.cfg.data, ledgerFile)
	if info, err := os.Stat(path); err == nil && info.Size() > 0 {
		return 0, codeError{exitError, fmt.Errorf("%s is there: nothing to rebuild; correct it with ingest quota post", path)}
	}
	spent, err := a.spentByStore(ctx, tariff)
	if err != nil {
		return 0, err
	}
	draft := path + ".rebuild"
	if err := removeAll(draft); err != nil {
		return 0, err
	}
	defer func() { _ = removeAll(draft) }()
	if err := a.writeLedger(ctx, draft, tariff, spent); err != nil {
		return 0, err
	}
	if err := os.Rename(draft, path); err != nil {
		return 0, fmt.Errorf("put the rebuilt ledger in its place: %w", err)
	}
	return len(spent), nil
}

func (a *app) writeLedger(ctx context.Context, path string, tariff *quota.Tariff, spent []ingest.Slot) (err error) {
	l, err := sqliteledger.Open(ctx, path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	l.Now = a.clock.now
	g := &quota.Governor{Ledger: l, Tariff: tariff, Account: a.cfg.account, Now: a.clock.now}
	const method = "videos.list" // all that a slot of today's kinds calls
	cost, err := tariff.Cost(method)
	if err != nil {
		return err
	}
	for _, slot := range spent {
		who := quota.Who{Purpose: quota.Scheduled, Region: slot.Key, Method: method}
		if slot.Kind == ingest.KindRefresh {
			who.Purpose = quota.Refresh
		}
		at := slot.FetchedAt
		if at.IsZero() {
			at = a.clock.now()
		}
		if err := g.Post(ctx, who, cost.Times(slot.Units), at); err != nil {
			return err
		}
	}
	return nil
}

// removeAll removes a database and what stands beside it.
func removeAll(path string) error {
	for _, suffix := range []string{"", "-wal", "-shm", ".lock", ".waiting"} {
		if err := os.Remove(path + suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove an unfinished rebuild: %w", err)
		}
	}
	return nil
}
