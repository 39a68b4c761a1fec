package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/store"
)

// longestInterval is how long after its due time a slot may still spend.
const longestInterval = 25 * time.Hour

// checkLost keeps the gate closed where the ledger knows of less than the store's slots spent: one that
// is gone, or was restored from an older copy, would let the same quota be spent again. A remote ledger
// that this data directory has delivered to before is told again by its journal, and needs no check.
func (a *app) checkLost(ctx context.Context, g *quota.Governor) error {
	if state, err := g.Reserve.State(ctx, g.Account); err != nil || state.Generation != 0 {
		return err
	}
	since := a.clock.now().Add(-g.Tariff.Horizon() + time.Minute)
	slots, err := a.spentSlots(ctx, since)
	slots = slices.DeleteFunc(slots, func(s ingest.Slot) bool { return !allSince(s, since) })
	if err != nil || len(slots) == 0 {
		return err
	}
	lacking, err := a.lacking(ctx, g, slots)
	if errors.Is(err, quota.ErrUnavailable) {
		return nil // every take will say so
	}
	if err != nil || len(lacking) == 0 {
		return err
	}
	units := int64(0)
	for _, n := range lacking {
		units += n
	}
	return codeError{exitUnavailable, fmt.Errorf("%w: the slots in %s spent %s units lately that the ledger of account %s does not know: "+
		"put %s back as it was, or count them again with ingest quota rebuild", quota.ErrClosed, a.cfg.data, thousands(units), g.Account, ledgerFile)}
}

// spentSlots are the slots that spent quota and were due since then, newest first, by the store's own
// account, and behind them the pieces of backfills that were worked on since then.
func (a *app) spentSlots(ctx context.Context, since time.Time) ([]ingest.Slot, error) {
	s, err := a.store(ctx, "")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = s.Close() }()
	slots, err := s.ListSlots(ctx, store.SlotFilter{Since: since})
	if err != nil {
		return nil, err
	}
	pieces, err := s.SpentOnPieces(ctx, since)
	var spent []ingest.Slot
	for _, slot := range slots {
		if slot.Units > 0 {
			spent = append(spent, slot)
		}
	}
	return append(spent, pieces...), err
}

// allSince reports whether all that a slot spent was spent since then: after it was due or, of a piece of an
// old plan, in one attempt, which no more than an hour went into.
func allSince(slot ingest.Slot, since time.Time) bool {
	return !slot.DueAt.Before(since) ||
		isPiece(slot) && slot.Attempt == 1 && slot.FetchedAt.After(since.Add(time.Hour))
}

// lacking is how many units of each key's slots, and of all backfills, the ledger does not know.
func (a *app) lacking(ctx context.Context, g *quota.Governor, slots []ingest.Slot) (map[string]int64, error) {
	spent, err := g.Ledger.Spent(ctx, g.Account, a.clock.now().Add(-g.Tariff.Horizon()))
	if err != nil {
		return nil, err
	}
	known := map[quota.Who]int64{} // a slot counts the dearest pool of each call
	for _, s := range spent {
		known[s.Who] = max(known[s.Who], s.Amount)
	}
	lacking := map[string]int64{}
	for _, slot := range slots {
		lacking[spender(slot)] += slot.Units
	}
	for who, amount := range known {
		if who.Purpose == quota.Backfill {
			who.Region = spentByBackfills
		}
		lacking[who.Region] -= amount
	}
	for key, units := range lacking {
		if units <= 0 {
			delete(lacking, key)
		}
	}
	return lacking, nil
}

// rebuild counts again what the store's slots say they spent and the ledger does not know; where it was
// cut short the gate stays closed, and it goes on. What was drawn by hand is not known to the store, and
// neither is what a run that was killed had taken for its last page.
func (a *app) rebuild(ctx context.Context) (slots int, err error) {
	g, closeAll, err := a.openLedger(ctx)
	if err != nil {
		return 0, err
	}
	defer closeAll()
	since := a.clock.now().Add(-g.Tariff.Horizon())
	all, err := a.spentSlots(ctx, since.Add(-longestInterval))
	if err != nil {
		return 0, err
	}
	var late, due []ingest.Slot
	for _, slot := range all {
		switch {
		case allSince(slot, since):
			due = append(due, slot)
		case slot.State != ingest.Done || slot.FetchedAt.After(since):
			late = append(late, slot)
		}
	}
	lacking, err := a.lacking(ctx, g, due)
	if err != nil {
		return 0, err
	}
	if len(lacking) == 0 && len(all) > 0 {
		return 0, codeError{exitError, fmt.Errorf("the ledger of account %s knows all that the slots in %s spent: nothing to rebuild; correct it with ingest quota post", g.Account, a.cfg.data)}
	}
	for _, slot := range append(due, late...) {
		units := min(slot.Units, lacking[spender(slot)])
		if !allSince(slot, since) {
			units = slot.Units
		}
		if units == 0 {
			continue
		}
		lacking[spender(slot)] -= units
		who, cost, at, err := a.spentBy(ctx, slot, units, g)
		if err != nil {
			return slots, err
		}
		if err := g.Post(ctx, who, cost, at); err != nil {
			return slots, err
		}
		slots++
	}
	return slots, nil
}

// spentByBackfills is the key that the pieces of all backfills share: their takes name other regions, or none.
const spentByBackfills = "backfill"

func spender(slot ingest.Slot) string {
	if isPiece(slot) {
		return spentByBackfills
	}
	return slot.Key
}

func isPiece(slot ingest.Slot) bool {
	_, ok := ingest.IsBackfillJob(slot.Job)
	return ok
}

// spentBy is what a slot spent, and when: at its last page where it is done, and otherwise, since it
// may have tried since, now. Later than it was is safe.
func (a *app) spentBy(ctx context.Context, slot ingest.Slot, units int64, g *quota.Governor) (quota.Who, quota.Cost, time.Time, error) {
	who := quota.Who{Purpose: quota.Scheduled, Region: slot.Key, Method: "videos.list"}
	if slot.Kind == ingest.KindRefresh {
		who.Purpose = quota.Refresh
	}
	if isPiece(slot) {
		method, err := a.pieceMethod(ctx, slot)
		if err != nil {
			return who, nil, time.Time{}, err
		}
		who = quota.Who{Purpose: quota.Backfill, Method: method}
	}
	at := g.Now()
	if slot.State == ingest.Done {
		at = slot.FetchedAt
	}
	cost, err := g.Tariff.Cost(who.Method)
	if err != nil {
		return who, nil, at, err
	}
	dearest := int64(1)
	for _, amount := range cost {
		dearest = max(dearest, amount)
	}
	return who, cost.Times((units + dearest - 1) / dearest), at, nil
}

// pieceMethod is the dearest method that a piece of a backfill calls.
func (a *app) pieceMethod(ctx context.Context, slot ingest.Slot) (string, error) {
	s, err := a.store(ctx, "")
	if err != nil {
		return "", err
	}
	defer func() { _ = s.Close() }()
	id, _ := ingest.IsBackfillJob(slot.Job)
	b, err := s.FindBackfill(ctx, id)
	if err == nil && b.Kind == ingest.BackfillSearch {
		return "search.list", nil
	}
	return "videos.list", err
}
