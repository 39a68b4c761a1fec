package storetest

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/store"
)

func testANewDueSlotSupersedesOlderOnes(t *testing.T, open Open) {
	s, clock := newStore(t, open)
	at := func(m int) time.Time { return noon.Add(time.Duration(m) * time.Minute) }
	AddDue(t, s, Due("US", at(0)))
	AddDue(t, s, Due("DE", at(0)))
	AddDue(t, s, Due("IN", at(0)), Due("FR", at(0)))
	only := func(region string) ingest.Claim {
		c := By("a", clock.now())
		c.Series = map[ingest.Series]bool{{Job: "chart", Key: region}: true}
		return c
	}
	Finish(t, s, Claim(t, s, only("IN")), ingest.Stopped, "units are spent")
	Claim(t, s, only("DE"))
	clock.move(10 * time.Minute)
	Claim(t, s, only("FR"))
	clock.move(time.Minute) // only DE's lease is over
	missed := Due("US", at(5))
	missed.State, missed.Reason = ingest.Missed, "nothing ran"
	AddDue(t, s, missed, Due("US", at(10)), Due("DE", at(10)), Due("IN", at(10)), Due("FR", at(10)))
	WantStates(t, s,
		"DE 12:10 due", "FR 12:10 due", "IN 12:10 due", "US 12:10 due",
		"US 12:05 missed",
		"DE 12:00 skipped", "FR 12:00 claimed", "IN 12:00 stopped", "US 12:00 skipped")
	slots, err := s.ListSlots(t.Context(), store.SlotFilter{Until: at(1)})
	if err != nil {
		t.Fatal(err)
	}
	const superseded = "superseded by the slot of 2026-02-14 12:10:00Z"
	for i, want := range []string{superseded, "", "units are spent", superseded} {
		if slots[i].Reason != want {
			t.Errorf("%s: reason %q, want %q", slots[i].Key, slots[i].Reason, want)
		}
	}

	clock.move(5 * time.Minute) // now FR's lease is over too: its old slot is skipped, the new one claimed
	slot := Claim(t, s, only("FR"))
	if !slot.DueAt.Equal(at(10)) {
		t.Errorf("claimed the slot of %v", slot.DueAt)
	}
	if got := states(t, s, store.SlotFilter{Key: "FR"}); !slices.Equal(got,
		[]string{"FR 12:10 claimed", "FR 12:00 skipped"}) {
		t.Errorf("got %q", got)
	}
}

func testASlotReleasedTooLateIsSuperseded(t *testing.T, open Open) {
	s, _ := newStore(t, open)
	AddDue(t, s, Due("US", noon))
	old := Claim(t, s, By("a", noon))
	AddDue(t, s, Due("US", noon.Add(5*time.Minute)))
	Finish(t, s, old, ingest.Due, "interrupted")
	WantStates(t, s, "US 12:05 due", "US 12:00 skipped")
	Finish(t, s, Claim(t, s, By("b", noon)), ingest.Done, "")
	ClaimNone(t, s, By("b", noon))
	slots, err := s.ListSlots(t.Context(), store.SlotFilter{State: ingest.Skipped})
	if err != nil || len(slots) != 1 || slots[0].Reason != "superseded by the slot of 2026-02-14 12:05:00Z" {
		t.Errorf("skipped %+v, %v, want 1 and \"superseded by the slot of 2026-02-14 12:05:00Z\"", slots, err)
	}
}

func testTwoSlotsOfASeriesNeverRunAtOnce(t *testing.T, open Open) {
	s, clock := newStore(t, open)
	AddDue(t, s, Due("US", noon))
	first := Claim(t, s, By("a", noon))
	AddDue(t, s, Due("US", noon.Add(time.Minute)), Due("GB", noon))
	other := Claim(t, s, By("b", noon))
	if other.Key != "GB" {
		t.Errorf("claimed %s %s while %s runs, want \"GB\"", other.Key, other.DueAt, first.DueAt)
	}
	Finish(t, s, other, ingest.Done, "")
	ClaimNone(t, s, By("b", clock.now()))

	first.Pages, first.Lease = 1, noon.Add(8*time.Minute) // one more page extends the claim
	first, err := s.SavePage(t.Context(), first, Page(Titled("a", "A")))
	if err != nil {
		t.Fatal(err)
	}
	ClaimNone(t, s, By("b", clock.move(7*time.Minute)))
	Finish(t, s, first, ingest.Done, "")
	if got := Claim(t, s, By("b", clock.now())); !got.DueAt.Equal(noon.Add(time.Minute)) {
		t.Errorf("claimed %s %s after Finish", got.Key, got.DueAt)
	}

	AddDue(t, s, Due("US", noon.Add(2*time.Minute)))
	if got := Claim(t, s, By("c", clock.move(time.Hour))); !got.DueAt.Equal(noon.Add(2 * time.Minute)) {
		t.Errorf("claimed %s %s after the lease", got.Key, got.DueAt)
	}
}

func testADueSlotThatComesTooLateEndsAsItIsAdded(t *testing.T, open Open) {
	s, _ := newStore(t, open)
	Chart(t, s, "US", noon, Page(Titled("a", "A")))
	AddDue(t, s, Due("US", noon.Add(-time.Hour)), Due("GB", noon), Due("GB", noon.Add(-time.Hour)))
	WantStates(t, s, "GB 12:00 due", "US 12:00 done", "GB 11:00 skipped", "US 11:00 skipped")
}

func testAStoppedSlotKeepsItsReasonUntilItIsClaimedAgain(t *testing.T, open Open) {
	s, _ := newStore(t, open)
	AddDue(t, s, Due("US", noon), Due("GB", noon))
	for range 2 {
		slot := Claim(t, s, ingest.Claim{Owner: "a", Now: noon, Lease: time.Minute,
			Except: map[ingest.SlotKey]bool{Due("GB", noon).SlotKey: true}})
		slot.RetryAt = noon.Add(time.Hour)
		Finish(t, s, slot, ingest.Stopped, "units: 6 of 6 used")
	}
	AddDue(t, s, Due("US", noon.Add(time.Hour)))
	slots, err := s.ListSlots(t.Context(), store.SlotFilter{State: ingest.Stopped})
	if err != nil || len(slots) != 1 || slots[0].Reason != "units: 6 of 6 used" || slots[0].RetryAt.IsZero() {
		t.Fatalf("superseded: %+v, %v; want its reason", slots, err)
	}

	only := By("a", noon)
	only.Series = map[ingest.Series]bool{{Job: "chart", Key: "GB"}: true}
	slot := Claim(t, s, only)
	slot.RetryAt = noon.Add(time.Hour)
	Finish(t, s, slot, ingest.Stopped, "units: 6 of 6 used")
	again := Claim(t, s, only)
	if again.Reason != "" || !again.RetryAt.IsZero() {
		t.Errorf("claimed again with the reason %q, retry at %v", again.Reason, again.RetryAt)
	}
	Finish(t, s, again, ingest.Done, again.Reason)
	slots, err = s.ListSlots(t.Context(), store.SlotFilter{State: ingest.Done})
	if err != nil || len(slots) != 1 || slots[0].Reason != "" || !slots[0].RetryAt.IsZero() {
		t.Errorf("done: %+v, %v; want no reason", slots, err)
	}
}

func testNewestIsTheLatestDueTimeInAnyState(t *testing.T, open Open) {
	s, _ := newStore(t, open)
	AddDue(t, s, Due("US", noon), Due("GB", noon))
	AddDue(t, s, Due("US", noon.Add(time.Hour)))
	got, err := s.Newest(t.Context(), time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC))
	if err != nil {
		t.Fatal(err)
	}
	us, gb := ingest.Series{Job: "chart", Key: "US"}, ingest.Series{Job: "chart", Key: "GB"}
	if len(got) != 2 || !got[us].Equal(noon.Add(time.Hour)) || !got[gb].Equal(noon) {
		t.Errorf("got %v", got)
	}
}

func testLastIsTheNewestDoneSlotAndTheNewestOutcome(t *testing.T, open Open) {
	s, _ := newStore(t, open)
	Chart(t, s, "US", noon.Add(-time.Hour), Page(Titled("a", "A")))
	Chart(t, s, "US", noon, Page(Titled("a", "A")))
	Chart(t, s, "DE", noon.Add(-time.Hour), Page(Titled("a", "A")))
	Chart(t, s, "FR", noon.AddDate(1, 0, 0), Page(Titled("a", "A"))) // while a clock was ahead
	AddDue(t, s, Due("DE", noon), Due("GB", noon))
	only := By("a", noon)
	only.Series = map[ingest.Series]bool{{Job: "chart", Key: "DE"}: true}
	Finish(t, s, Claim(t, s, only), ingest.Stopped, "units: 6 of 6 used")
	Claim(t, s, By("a", noon)) // GB
	AddDue(t, s, Due("US", noon.Add(time.Hour)))
	b := AddBackfill(t, s, Plan("x"), Numbered(1))
	Finish(t, s, Claim(t, s, PiecesOf(b, "a", noon)), ingest.Done, "")

	latest, err := s.Latest(t.Context(), noon.Add(2*time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	got := []string{}
	for series, slot := range latest.Done {
		got = append(got, fmt.Sprint("done ", series.Key, slot.DueAt.Format(" 15:04")))
	}
	for series, slot := range latest.Ended {
		got = append(got, fmt.Sprint(slot.State, " ", series.Key, slot.DueAt.Format(" 15:04 "), slot.Reason))
	}
	for series, slot := range latest.Open {
		got = append(got, fmt.Sprint(slot.State, " ", series.Key, slot.DueAt.Format(" 15:04")))
	}
	slices.Sort(got)
	if want := []string{"claimed GB 12:00", "done DE 11:00", "done US 12:00", "done US 12:00 ",
		"due US 13:00", "stopped DE 12:00 units: 6 of 6 used"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func testTheLeastFreshSeriesIsClaimedFirst(t *testing.T, open Open) {
	s, clock := newStore(t, open)
	Chart(t, s, "US", noon, Page(Titled("a", "A")))
	Chart(t, s, "DE", clock.move(time.Millisecond), Page(Titled("a", "A"))) // a millisecond fresher
	at := noon.Add(time.Hour)
	AddDue(t, s, Due("DE", at), Due("US", at), Due("IN", at), Due("GB", at.Add(-time.Minute)))
	want := []string{"GB", "IN", "US", "DE"} // never-fetched series by due time, then by age
	for _, region := range want {
		if got := Claim(t, s, By("a", at)); got.Key != region {
			t.Errorf("claimed %s, want %s", got.Key, region)
		}
	}
	ClaimNone(t, s, By("a", at))
}

func testClaimHandsOutWhatIsWantedOnly(t *testing.T, open Open) {
	s, _ := newStore(t, open)
	AddDue(t, s, Due("US", noon), Due("GB", noon))
	c := By("a", noon)
	c.Series = map[ingest.Series]bool{{Job: "chart", Key: "US"}: true, {Job: "other", Key: "GB"}: true}
	c.Except = map[ingest.SlotKey]bool{Due("US", noon).SlotKey: true}
	ClaimNone(t, s, c)
	c.Except = map[ingest.SlotKey]bool{Due("US", noon.Add(time.Second)).SlotKey: true}
	got := Claim(t, s, c)
	want := Due("US", noon)
	want.State, want.Owner, want.Attempt, want.Tries, want.Lease = ingest.Claimed, "a", 1, 1, noon.Add(5*time.Minute)
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("claimed %+v, want %+v", got, want)
	}
	c.Series = map[ingest.Series]bool{}
	ClaimNone(t, s, c)
}

func testAStoppedSlotIsClaimedAgainUntilANewerOneExists(t *testing.T, open Open) {
	s, _ := newStore(t, open)
	AddDue(t, s, Due("US", noon))
	slot := Claim(t, s, By("a", noon))
	slot.Token, slot.Pages, slot.Units, slot.TokenAt = "next", 2, 3, noon
	slot.RetryAt = noon.Add(time.Hour)
	Finish(t, s, slot, ingest.Stopped, "units are spent")
	again := Claim(t, s, By("b", noon))
	if again.Attempt != 2 || again.Token != "next" || !again.TokenAt.Equal(noon) || again.Pages != 2 || again.Units != 3 {
		t.Errorf("claimed %+v", again)
	}
	Finish(t, s, again, ingest.Stopped, "still spent")
	later := Due("US", noon.Add(time.Hour))
	AddDue(t, s, later)
	got := Claim(t, s, By("c", noon.Add(time.Hour)))
	if !got.DueAt.Equal(later.DueAt) {
		t.Errorf("claimed the slot of %v", got.DueAt)
	}
	Finish(t, s, got, ingest.Done, "")
	ClaimNone(t, s, By("c", noon.Add(time.Hour)))
}

func testOnlyTheLastClaimMayWrite(t *testing.T, open Open) {
	s, clock := newStore(t, open)
	AddDue(t, s, Due("US", noon))
	first := Claim(t, s, By("a", clock.now()))
	second := Claim(t, s, By("a", clock.move(5*time.Minute))) // the same owner: the attempt distinguishes them
	before := states(t, s, store.SlotFilter{})
	writes := map[string]func(ingest.Slot) error{
		"Finish": func(slot ingest.Slot) error { slot.State = ingest.Done; return s.Finish(t.Context(), slot) },
		"SavePage": func(slot ingest.Slot) error {
			slot.Pages++
			_, err := s.SavePage(t.Context(), slot, Page(Titled("a", "Late")))
			return err
		},
		"SaveVideos": func(slot ingest.Slot) error {
			_, _, err := s.SaveVideos(t.Context(), slot, ingest.Asked{IDs: []string{"a"}}, Page())
			return err
		},
	}
	other, unknown := second, second
	other.Owner, unknown.Key = "b", "GB"
	for name, write := range writes {
		for _, slot := range []ingest.Slot{first, other, unknown} {
			if err := write(slot); !errors.Is(err, ingest.ErrFenced) {
				t.Errorf("%s by %s, attempt %d: %v, want ErrFenced", name, slot.Owner, slot.Attempt, err)
			}
		}
	}
	WantStates(t, s, before...)
	if found := Search(t, s, store.SearchQuery{Text: "late"}); len(found) > 0 {
		t.Errorf("a fenced claim wrote %v, want none", found)
	}
	Finish(t, s, second, ingest.Done, "")
	for name, write := range writes {
		if err := write(second); !errors.Is(err, ingest.ErrFenced) {
			t.Errorf("%s after the end: %v, want ErrFenced", name, err)
		}
	}
}

func testEachSlotIsClaimedOnceHoweverManyAsk(t *testing.T, open Open) {
	dir, clock := t.TempDir(), &handClock{t: noon}
	stores := []*store.Store{open(t, dir, clock.now), open(t, dir, clock.now)}
	const slots = 60
	for i := range slots {
		AddDue(t, stores[0], Due(fmt.Sprintf("R%02d", i), noon))
	}
	var mu sync.Mutex
	claimed := map[string]int{}
	var wg sync.WaitGroup
	for i := range 6 {
		wg.Go(func() {
			for {
				slot, ok, err := stores[i%2].Claim(t.Context(), By(fmt.Sprint(i), noon))
				if err != nil {
					t.Error(err)
				}
				if !ok || err != nil {
					return
				}
				mu.Lock()
				claimed[slot.Key]++
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	for key, n := range claimed {
		if n != 1 {
			t.Errorf("%s was claimed %d times, want 1", key, n)
		}
	}
	if len(claimed) != slots {
		t.Errorf("%d of %d slots were claimed", len(claimed), slots)
	}
}

func testListSlotsFilters(t *testing.T, open Open) {
	s, _ := newStore(t, open)
	Chart(t, s, "US", noon, Page(Titled("a", "A")))
	AddDue(t, s, Due("US", noon.Add(time.Hour)), Due("GB", noon))
	refresh := Due("", noon)
	refresh.Job, refresh.Kind = "refresh", ingest.KindRefresh
	AddDue(t, s, refresh)
	tests := []struct {
		name   string
		filter store.SlotFilter
		want   []string
	}{
		{"all", store.SlotFilter{}, []string{"US 13:00 due", "GB 12:00 due", "US 12:00 done", " 12:00 due"}},
		{"since", store.SlotFilter{Since: noon.Add(time.Millisecond)}, []string{"US 13:00 due"}},
		{"until", store.SlotFilter{Until: noon.Add(time.Hour), Job: "chart"}, []string{"GB 12:00 due", "US 12:00 done"}},
		{"state", store.SlotFilter{State: ingest.Done}, []string{"US 12:00 done"}},
		{"job", store.SlotFilter{Job: "refresh"}, []string{" 12:00 due"}},
		{"key", store.SlotFilter{Key: "US", Limit: 1}, []string{"US 13:00 due"}},
		{"none", store.SlotFilter{Key: "FR"}, []string{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := states(t, s, tt.filter); !slices.Equal(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}
