package ingest_test

import (
	"maps"
	"testing"
	"time"

	"github.com/trendvidstream/ingest"
)

func TestASlotCountsUnitsByItsMostExpensivePoolAndKeepsEveryPool(t *testing.T) {
	search, list := map[string]int64{"units": 100, "search": 1}, map[string]int64{"units": 1, "search": 0}
	var slot ingest.Slot
	slot.Charge(search, false)
	before := slot
	slot.Charge(list, false)
	if want := map[string]int64{"units": 101, "search": 1}; slot.Units != 101 || !maps.Equal(slot.Charges, want) {
		t.Errorf("%d units, %v, want 101 and %v", slot.Units, slot.Charges, want)
	}
	if before.Charges["units"] != 100 {
		t.Errorf("a copy that was made before has changed: %v", before.Charges)
	}
	slot.Refund(list, false)
	slot.Refund(search, false)
	if slot.Units != 0 || len(slot.Charges) > 0 {
		t.Errorf("once all is refunded: %d units, %v", slot.Units, slot.Charges)
	}
}

func TestTicksAreAllThatASlotStandsFor(t *testing.T) {
	noon := time.Date(2026, 2, 14, 12, 0, 0, 0, time.UTC)
	slot := ingest.Slot{SlotKey: ingest.SlotKey{DueAt: noon}}
	if got := slot.Ticks(); len(got) != 1 || !got[0].Equal(noon) || slot.TicksSince(noon.Add(time.Hour)).Count != 0 {
		t.Errorf("one tick: %v", got)
	}
	const month = 60 * 24 * 29 // minutes
	slot.Count, slot.FirstDueAt = month+1, noon.Add(-month*time.Minute)
	for i, at := range slot.Ticks() {
		if want := noon.Add(time.Duration(i-month) * time.Minute); !at.Equal(want) {
			t.Fatalf("tick %d is %v, want %v", i, at, want)
		}
	}
	if got := slot.TicksSince(noon.Add(-90 * time.Second)); got.Count != 2 || !got.FirstDueAt.Equal(noon.Add(-time.Minute)) || !got.DueAt.Equal(noon) {
		t.Errorf("the last two: %d since %v", got.Count, got.FirstDueAt)
	}
	if got := slot.TicksSince(noon); got.Count != 0 || !got.FirstDueAt.IsZero() {
		t.Errorf("the last: %d since %v", got.Count, got.FirstDueAt)
	}
}
