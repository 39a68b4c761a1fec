package ingest_test

import (
	"maps"
	"testing"

	"github.com/trendvidstream/ingest"
)

func TestASlotCountsUnitsByItsMostExpensivePoolAndKeepsEveryPool(t *testing.T) {
	search, list := map[string]int64{"units": 100, "search": 1}, map[string]int64{"units": 1, "search": 0}
	var slot ingest.Slot
	slot.Charge(search)
	before := slot
	slot.Charge(list)
	if want := map[string]int64{"units": 101, "search": 1}; slot.Units != 101 || !maps.Equal(slot.Charges, want) {
		t.Errorf("%d units, %v, want 101 and %v", slot.Units, slot.Charges, want)
	}
	if before.Charges["units"] != 100 {
		t.Errorf("a copy that was made before has changed: %v", before.Charges)
	}
	slot.Refund(list)
	slot.Refund(search)
	if slot.Units != 0 || slot.Charges != nil {
		t.Errorf("once all is refunded: %d units, %v", slot.Units, slot.Charges)
	}
}

func TestChargesThatAreNotKnownStayUnknown(t *testing.T) {
	slot := ingest.Slot{Units: 3}
	slot.Charge(map[string]int64{"units": 1})
	if slot.Units != 4 || slot.Charges != nil {
		t.Errorf("%d units, %v: a part of them would pass for all", slot.Units, slot.Charges)
	}
}
