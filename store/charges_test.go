package store_test

import (
	"maps"
	"testing"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/store"
)

// A slot's charges by pool survive a page, a stop, a restart and the next claim.
func TestChargesAreKeptByPoolOverAttempts(t *testing.T) {
	dir := t.TempDir()
	clock := &handClock{t: noon}
	s := open(t, dir, clock)
	search := due("US", noon)
	search.Kind = ingest.KindSearch
	addDue(t, s, search)
	call := map[string]int64{"units": 100, "search": 1}
	slot := claim(t, s, by("a", noon))
	if slot.Charges != nil {
		t.Errorf("before the first call: %v", slot.Charges)
	}
	slot.Charge(call)
	slot, err := s.Enqueue(t.Context(), slot, []string{"a"}, noon)
	if err != nil {
		t.Fatal(err)
	}
	slot.Charge(call)
	if slot, err = s.Restart(t.Context(), slot, 1); err != nil {
		t.Fatal(err)
	}
	slot.Charge(call)
	finish(t, s, slot, ingest.Stopped, "units are spent")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	slot = claim(t, open(t, dir, clock), by("b", noon))
	if want := map[string]int64{"units": 300, "search": 3}; slot.Units != 300 || !maps.Equal(slot.Charges, want) {
		t.Errorf("the next attempt knows %d units, %v, want %v", slot.Units, slot.Charges, want)
	}
}

// The charges by pool of a slot from before version 3 stay unknown, however it continues.
func TestChargesOfAnOlderStoreAreNotKnown(t *testing.T) {
	s := open(t, old(t, "v2.sql"), &handClock{t: noon})
	slots, err := s.ListSlots(t.Context(), store.SlotFilter{})
	if err != nil {
		t.Fatal(err)
	}
	spent := 0
	for _, slot := range slots {
		if slot.Units > 0 {
			spent++
		}
		if slot.Charges != nil {
			t.Errorf("%v: %v", slot.SlotKey, slot.Charges)
		}
	}
	if spent == 0 {
		t.Error("no slot had spent anything")
	}
	c := by("b", noon)
	c.Series = map[ingest.Series]bool{{Job: "search", Key: "US"}: true}
	slot := claim(t, s, c)
	slot.Charge(map[string]int64{"units": 1})
	finish(t, s, slot, ingest.Done, "")
	slots, err = s.ListSlots(t.Context(), store.SlotFilter{Job: "search"})
	if err != nil || len(slots) != 1 || slots[0].Units != 101 || slots[0].Charges != nil {
		t.Errorf("%+v, %v: a part of its charges passes for all", slots, err)
	}
}
