package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"github.com/trendvidstream/ingest/internal/term"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/fetch"
	"github.com/trendvidstream/ingest/quota"
)

// longestInterval is how long after its due time a slot may still spend.
const longestInterval = 25 * time.Hour

// checkLost keeps the gate closed where the ledger knows of less than the store's slots spent: one that
// is gone, or was restored from an older copy, would let the same quota be spent again. A remote ledger
// that this data directory has delivered to before is told again by its journal, and needs no check.
func (a *app) checkLost(ctx context.Context, g *quota.Governor) error {
	if replays, err := g.Reserve.Replays(ctx, g.Account); err != nil || replays {
		return err
	}
	since := a.clock.Now().Add(-g.Tariff.Horizon() + time.Minute)
	slots, err := a.spentSlots(ctx, since)
	slots = slices.DeleteFunc(slots, func(s ingest.Slot) bool { return !allSince(s, since) })
	if err != nil || len(slots) == 0 {
		return err
	}
	lacking, err := a.lacking(ctx, g, slots, atMost)
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
		"put %s back as it was, or count them again with ingest quota rebuild", quota.ErrClosed, a.cfg.Data, term.Thousands(units), g.Account, ledgerFile)}
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

// spender is what the slots and the ledger are compared by: a region, or a purpose that has none of its own.
type spender struct {
	purpose quota.Purpose // "" for what fetches a region
	region  string
}

// spenderOf is the one that a slot's units are of. A chart that was forced has another purpose.
func spenderOf(slot ingest.Slot) spender {
	switch slot.Kind {
	case ingest.KindRefresh:
		return spender{purpose: quota.Refresh}
	case ingest.KindBackfill:
		return spender{purpose: quota.Backfill}
	case ingest.KindChart, ingest.KindSearch:
	}
	return spender{region: slot.Key}
}

// spenderIn is the one that the ledger's units are of: a refresh or a backfill may ask about a region.
func spenderIn(w quota.Who) spender {
	if w.Purpose == quota.Refresh || w.Purpose == quota.Backfill {
		return spender{purpose: w.Purpose}
	}
	return spender{region: w.Region}
}

// allSince reports whether all that a slot spent was spent since then: after it was due or, of a piece of an
// old plan, in one attempt, which no more than an hour went into.
func allSince(slot ingest.Slot, since time.Time) bool {
	return !slot.DueAt.Before(since) ||
		slot.Kind == ingest.KindBackfill && slot.Attempt == 1 && slot.FetchedAt.After(since.Add(time.Hour))
}

// A slot counts the dearest pool of each call. The ledger has sums of pools, and which of them was the
// dearest may have changed with the costs: slots have counted between the largest and all of them.
func atLeast(known, amount int64) int64 { return max(known, amount) }
func atMost(known, amount int64) int64  { return known + amount }

// lacking is how many units of each spender's slots the ledger does not know; with atMost only what it surely
// does not, as closes the gate, and with atLeast what it may not, as is posted.
func (a *app) lacking(ctx context.Context, g *quota.Governor, slots []ingest.Slot, counted func(known, amount int64) int64) (map[spender]int64, error) {
	spent, err := g.Ledger.Spent(ctx, g.Account, a.clock.Now().Add(-g.Tariff.Horizon()))
	if err != nil {
		return nil, err
	}
	known := map[quota.Who]int64{}
	for _, s := range spent {
		known[s.Who] = counted(known[s.Who], s.Amount)
	}
	lacking := map[spender]int64{}
	for _, slot := range slots {
		lacking[spenderOf(slot)] += slot.Units
	}
	for who, amount := range known {
		lacking[spenderIn(who)] -= amount
	}
	for who, units := range lacking {
		if units <= 0 {
			delete(lacking, who)
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
	since := a.clock.Now().Add(-g.Tariff.Horizon())
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
	lacking, err := a.lacking(ctx, g, due, atLeast)
	if err != nil {
		return 0, err
	}
	if len(lacking) == 0 && len(all) > 0 {
		return 0, codeError{exitError, fmt.Errorf("the ledger of account %s knows all that the slots in %s spent: nothing to rebuild; correct it with ingest quota post", g.Account, a.cfg.Data)}
	}
	for _, slot := range append(due, late...) {
		units := min(slot.Units, lacking[spenderOf(slot)])
		if !allSince(slot, since) {
			units = slot.Units
		}
		if units == 0 {
			continue
		}
		lacking[spenderOf(slot)] -= units
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

// spentBy is what a slot spent, and when: at its last page where it is done, and otherwise, since it
// may have tried since, now. Later than it was is safe.
func (a *app) spentBy(ctx context.Context, slot ingest.Slot, units int64, g *quota.Governor) (quota.Who, quota.Cost, time.Time, error) {
	searches, err := a.searches(ctx, slot)
	if err != nil {
		return quota.Who{}, nil, time.Time{}, err
	}
	methods := methodsIn(slot.Kind, searches, a.provider().calls)
	who := quota.Who{Purpose: quota.Scheduled, Region: slot.Key, Method: methods[0]}
	switch slot.Kind {
	case ingest.KindRefresh:
		who.Purpose = quota.Refresh
	case ingest.KindBackfill:
		who.Purpose, who.Region = quota.Backfill, ""
	case ingest.KindChart, ingest.KindSearch:
	}
	at := g.Now()
	if slot.State == ingest.Done {
		at = slot.FetchedAt
	}
	cost, err := costOf(units, methods, g.Tariff)
	return who, cost, at, err
}

// methodsIn are the calls that slots of a kind spend most by, the dearest first.
func methodsIn(kind ingest.Kind, searches bool, calls fetch.Upstream) []string {
	switch {
	case searches:
		kind = ingest.KindSearch
	case kind != ingest.KindChart:
		kind = ingest.KindRefresh
	}
	made, err := fetch.JobCalls(calls, ingest.Job{Kind: kind})
	if err != nil {
		return []string{calls.Videos(nil).Method}
	}
	return made.Methods()
}

// costOf is what a slot drew that counts so many units, the dearest pool of each call, by calls of these
// methods. As many as fit were of the first; where the others are as dear, each may have been all of them,
// and more than it was is safe.
func costOf(units int64, methods []string, t *quota.Tariff) (quota.Cost, error) {
	total := quota.Cost{}
	for _, method := range methods {
		cost, err := t.Cost(method)
		if err != nil {
			return nil, err
		}
		dearest := int64(1)
		for _, amount := range cost {
			dearest = max(dearest, amount)
		}
		calls := units / dearest
		if method == methods[len(methods)-1] {
			calls = (units + dearest - 1) / dearest
		}
		for pool, amount := range cost.Times(calls) {
			total[pool] += amount
		}
		if dearest > 1 {
			units -= calls * dearest
		}
	}
	return total, nil
}

// searches reports whether a slot searches, which is dear, before it looks up what it found.
func (a *app) searches(ctx context.Context, slot ingest.Slot) (bool, error) {
	if slot.Kind != ingest.KindBackfill {
		return slot.Kind == ingest.KindSearch, nil
	}
	s, err := a.store(ctx, "")
	if err != nil {
		return false, err
	}
	defer func() { _ = s.Close() }()
	id, _ := ingest.IsBackfillJob(slot.Job)
	b, err := s.FindBackfill(ctx, id)
	return b.Kind == ingest.BackfillSearch, err
}
