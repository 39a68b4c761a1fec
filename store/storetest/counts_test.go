package storetest

import (
	"slices"
	"testing"
	"time"

	"github.com/trendvidstream/ingest"
)

// A fetch counts too.
func testTheOldestFetchIsCountedFirst(t *testing.T, open Open) {
	s, _ := newStore(t, open)
	for i, id := range []string{"a", "b", "c", "d"} {
		Chart(t, s, "US", noon.Add(time.Duration(i)*time.Hour), Page(Titled(id, id)))
	}
	AddDue(t, s, ingest.Slot{SlotKey: ingest.SlotKey{Job: "refresh", DueAt: noon},
		Kind: ingest.KindRefresh, State: ingest.Due})
	slot := Claim(t, s, By("a", noon))
	slot.Pages, slot.FetchedAt = 1, noon.Add(90*time.Minute)
	if _, err := s.SaveCounts(t.Context(), slot, []string{"a"}, []ingest.Counts{{ID: "a"}}); err != nil {
		t.Fatal(err)
	}
	got, err := s.VideosToCount(t.Context(), noon.Add(3*time.Hour), 2)
	if want := []string{"a", "b"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v; want %q", got, err, want)
	}
	if got, err := s.VideosToCount(t.Context(), noon.Add(3*time.Hour), 9); err != nil ||
		!slices.Equal(got, []string{"a", "b", "c"}) {
		t.Errorf("all are %q, %v", got, err)
	}
}
