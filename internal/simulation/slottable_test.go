package simulation_test

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/fetch"
)

// slotTable is a table of slots in memory, as simple as its contract allows: fetch.Slots, and the parts of fetch.Sink
// and fetch.Library that charts need.
type slotTable struct {
	fetch.Sink
	fetch.Library

	slots         map[ingest.SlotKey]*ingest.Slot
	open          map[ingest.SlotKey]*ingest.Slot // the slots that may still be claimed
	newest, fresh map[ingest.Series]time.Time     // due time of the newest slot, of the newest done
	saved         map[ingest.SlotKey]int          // pages, over all attempts
}

func newSlotTable() *slotTable {
	return &slotTable{
		slots: map[ingest.SlotKey]*ingest.Slot{}, open: map[ingest.SlotKey]*ingest.Slot{}, saved: map[ingest.SlotKey]int{},
		newest: map[ingest.Series]time.Time{}, fresh: map[ingest.Series]time.Time{},
	}
}

func (s *slotTable) AddDue(_ context.Context, slots []ingest.Slot) error {
	for _, slot := range slots {
		if s.slots[slot.SlotKey] != nil {
			continue
		}
		s.slots[slot.SlotKey] = &slot
		if slot.DueAt.After(s.newest[slot.Series()]) {
			s.newest[slot.Series()] = slot.DueAt
		}
		if slot.State != ingest.Due {
			continue
		}
		s.open[slot.SlotKey] = &slot
		for key, older := range s.open {
			if key.Series() != slot.Series() || !key.DueAt.Before(slot.DueAt) || older.State == ingest.Claimed {
				continue
			}
			if older.State == ingest.Due {
				older.State, older.Reason = ingest.Skipped, "superseded"
			}
			delete(s.open, key)
		}
	}
	return nil
}

func (s *slotTable) Newest(context.Context, time.Time) (map[ingest.Series]time.Time, error) {
	return maps.Clone(s.newest), nil
}

func (s *slotTable) Claim(_ context.Context, c ingest.Claim) (ingest.Slot, bool, error) {
	for _, slot := range s.claimable(c.Now) {
		if c.Except[slot.SlotKey] {
			continue
		}
		slot.State, slot.Owner, slot.Lease = ingest.Claimed, c.Owner, c.Now.Add(c.Lease)
		slot.Attempt++
		return *slot, true, nil
	}
	return ingest.Slot{}, false, nil
}

func (s *slotTable) Claimable(_ context.Context, now time.Time) (keys []ingest.SlotKey, _ error) {
	for _, slot := range s.claimable(now) {
		keys = append(keys, slot.SlotKey)
	}
	return keys, nil
}

// claimable returns the slots that may be claimed, in their order.
func (s *slotTable) claimable(now time.Time) (open []*ingest.Slot) {
	for _, slot := range s.open {
		if slot.State != ingest.Claimed || !slot.Lease.After(now) {
			open = append(open, slot)
		}
	}
	slices.SortFunc(open, func(a, b *ingest.Slot) int {
		return cmp.Or(s.fresh[a.Series()].Compare(s.fresh[b.Series()]), a.DueAt.Compare(b.DueAt), cmp.Compare(a.Key, b.Key))
	})
	return open
}

func (s *slotTable) Retire(context.Context, map[ingest.Series]string) error { return nil }

func (s *slotTable) Finish(_ context.Context, slot ingest.Slot) error {
	held := s.slots[slot.SlotKey]
	if held.State != ingest.Claimed || held.Owner != slot.Owner || held.Attempt != slot.Attempt {
		return ingest.ErrFenced
	}
	if slot.State == ingest.Due && slot.DueAt.Before(s.newest[slot.Series()]) {
		slot.State, slot.Reason = ingest.Skipped, "superseded"
	}
	*held = slot
	if slot.State == ingest.Done && slot.DueAt.After(s.fresh[slot.Series()]) {
		s.fresh[slot.Series()] = slot.DueAt
	}
	if slot.State != ingest.Due && (slot.State != ingest.Stopped || slot.DueAt.Before(s.newest[slot.Series()])) {
		delete(s.open, slot.SlotKey)
	}
	return nil
}

func (s *slotTable) SavePage(ctx context.Context, slot ingest.Slot, page ingest.Page) (ingest.Slot, error) {
	slot.Videos = len(page.Videos)
	if err := s.Finish(ctx, slot); err != nil {
		return slot, err
	}
	s.saved[slot.SlotKey]++
	return slot, nil
}

// Sweep has nothing to delete: no video is kept here.
func (*slotTable) Sweep(context.Context, time.Time) (placements, videos int, err error) {
	return 0, 0, nil
}

func (s *slotTable) Charted(context.Context, ingest.Series) (bool, error) { return false, nil }

func (s *slotTable) NoChartUntil(context.Context, ingest.Region, string) (time.Time, error) {
	return time.Time{}, nil
}

// check requires exactly one commit or recorded reason of every slot that was due.
func (s *slotTable) check(p *planet, known map[ingest.Series]time.Time) {
	for key, slot := range s.slots {
		p.slots++
		switch {
		case slot.State == ingest.Done && s.saved[key] != 1:
			p.t.Errorf("seed %d: I4: %v is done with %d commits", p.seed, key, s.saved[key])
		case slot.State == ingest.Done:
			p.done++
		case s.saved[key] != 0:
			p.t.Errorf("seed %d: I4: %v is %s with a commit", p.seed, key, slot.State)
		case slot.State == ingest.Due || slot.State == ingest.Claimed:
			if !known[key.Series()].Equal(key.DueAt) && slot.State == ingest.Due {
				p.t.Errorf("seed %d: I4: %v is still %s", p.seed, key, slot.State)
			}
		case slot.Reason == "":
			p.t.Errorf("seed %d: I4: %v is %s without a reason", p.seed, key, slot.State)
		}
	}
	for _, schedule := range p.schedule {
		for series, newest := range known {
			for _, k := range schedule.Between(newest.Add(-24*time.Hour), newest) {
				if k.Series() == series && s.slots[k] == nil {
					p.t.Errorf("seed %d: I4: %v was never there", p.seed, k)
				}
			}
		}
	}
}
