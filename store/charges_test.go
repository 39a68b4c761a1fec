package store_test

import (
	"maps"
	"testing"

	"github.com/trendvidstream/ingest"
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
	slot.Charge(call, false)
	slot, err := s.Enqueue(t.Context(), slot, []string{"a"}, noon)
	if err != nil {
		t.Fatal(err)
	}
	slot.Charge(call, false)
	if slot, err = s.Restart(t.Context(), slot, 1); err != nil {
		t.Fatal(err)
	}
	slot.Charge(call, false)
	finish(t, s, slot, ingest.Stopped, "units are spent")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	slot = claim(t, open(t, dir, clock), by("b", noon))
	if want := map[string]int64{"units": 300, "search": 3}; slot.Units != 300 || !maps.Equal(slot.Charges, want) {
		t.Errorf("the next attempt knows %d units, %v, want %v", slot.Units, slot.Charges, want)
	}
}
