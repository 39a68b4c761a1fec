package storetest

import (
	"reflect"
	"testing"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/store"
)

func testRanksGoOnOverThePagesAndAVideoHasOne(t *testing.T, open Open) {
	s, _ := newStore(t, open)
	slot := Chart(t, s, "US", noon,
		Page(Titled("a", "A"), Titled("b", "B"), Titled("a", "A")),
		Page(Titled("b", "B"), Titled("", "without an id"), Titled("c", "C")))
	if got, want := Ranks(t, s, "US"), "1 a, 2 b, 3 c"; got != want {
		t.Errorf("ranks %q, want %q", got, want)
	}
	if slot.Videos != 3 {
		t.Errorf("%d videos counted, want 3", slot.Videos)
	}
}

func testPage1ClearsAnEarlierAttempt(t *testing.T, open Open) {
	s, clock := newStore(t, open)
	AddDue(t, s, Due("US", noon))
	slot := Claim(t, s, By("a", noon))
	slot.Pages = 1
	slot, err := s.SavePage(t.Context(), slot, Page(Titled("old", "Old"), Titled("both", "Both")))
	if err != nil {
		t.Fatal(err)
	}
	again := Claim(t, s, By("b", clock.move(time.Hour)))
	again.Pages, again.State = 1, ingest.Done
	again, err = s.SavePage(t.Context(), again, Page(Titled("both", "Both"), Titled("new", "New")))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := Ranks(t, s, "US"), "1 both, 2 new"; got != want {
		t.Errorf("ranks %q, want %q", got, want)
	}
	if slot.Videos != 2 || again.Videos != 2 {
		t.Errorf("counted %d, then %d videos, want 2 and 2", slot.Videos, again.Videos)
	}
}

func testTheSlotIsWrittenWithThePage(t *testing.T, open Open) {
	s, clock := newStore(t, open)
	AddDue(t, s, Due("US", noon))
	slot := Claim(t, s, By("a", noon))
	slot.Pages, slot.Units, slot.Token, slot.TokenAt, slot.State = 1, 1, "CAUQAA",
		clock.move(time.Second+time.Microsecond), ingest.Done
	slot, err := s.SavePage(t.Context(), slot, Page(Titled("a", "A")))
	if err != nil {
		t.Fatal(err)
	}
	slot.Lease = time.Time{} // a claim that has ended has none
	listed, err := s.ListSlots(t.Context(), store.SlotFilter{})
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(listed, []ingest.Slot{slot}) {
		t.Errorf("stored %+v\nreturned %+v", listed, slot)
	}
	if !slot.FetchedAt.Equal(noon.Add(time.Second)) {
		t.Errorf("fetched at %v, want the store's own time in milliseconds", slot.FetchedAt)
	}
}
