package store_test

import (
	"testing"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/store"
)

func TestAddDueLeavesExistingSlotsAlone(t *testing.T) {
	s, _ := newStore(t)
	addDue(t, s, due("US", noon))
	finish(t, s, claim(t, s, by("a", noon)), ingest.Failed, "broken")
	version := dataVersion(t, s)
	addDue(t, s, due("US", noon))
	wantStates(t, s, "US 12:00 failed")
	if version() {
		t.Error("adding recorded slots: got a write, want none")
	}
	addDue(t, s)
	if version() {
		t.Error("adding no slots: got a write, want none")
	}
}

func TestASlotThatLeftTheConfigEndsWithAReason(t *testing.T) {
	s, clock := newStore(t)
	addDue(t, s, due("US", noon), due("GB", noon), due("DE", noon), due("FR", noon), due("IN", noon))
	only := func(region string) ingest.Claim {
		c := by("a", clock.now())
		c.Series = map[ingest.Series]bool{{Job: "chart", Key: region}: true}
		return c
	}
	stopped := claim(t, s, only("GB"))
	stopped.RetryAt = noon.Add(time.Hour)
	finish(t, s, stopped, ingest.Stopped, "units are spent")
	claim(t, s, only("DE"))
	clock.move(4 * time.Minute)
	running := claim(t, s, only("FR"))
	clock.move(time.Minute) // the lease of DE is over, the lease of FR is not
	gone := map[ingest.Series]string{{Job: "other", Key: "US"}: "no such series"}
	for _, region := range []string{"US", "GB", "DE", "FR"} {
		gone[ingest.Series{Job: "chart", Key: region}] = "the config no longer has " + region
	}
	retire := func() {
		t.Helper()
		if err := s.Retire(t.Context(), gone); err != nil {
			t.Fatal(err)
		}
	}
	retire()
	wantStates(t, s, "DE 12:00 skipped", "FR 12:00 claimed", "GB 12:00 stopped", "IN 12:00 due", "US 12:00 skipped")
	changed := dataVersion(t, s)
	retire()
	if changed() {
		t.Error("retiring again: got a write, want none")
	}
	finish(t, s, running, ingest.Due, "interrupted")
	retire()
	if got := claim(t, s, by("b", clock.now())); got.Key != "IN" {
		t.Errorf("claimed %s, want \"IN\"", got.Key)
	}
	claimNone(t, s, by("b", clock.now()))
	slots, err := s.ListSlots(t.Context(), store.SlotFilter{})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"the config no longer has DE", "the config no longer has FR", "units are spent", "", "the config no longer has US"} {
		if slots[i].Reason != want {
			t.Errorf("%s: reason %q, want %q", slots[i].Key, slots[i].Reason, want)
		}
	}

	addDue(t, s, due("US", noon.Add(time.Hour))) // it is back
	if got := claim(t, s, by("b", clock.now())); got.Key != "US" {
		t.Errorf("claimed %s, want \"US\"", got.Key)
	}
}

func TestClaimWithNothingDueDoesNotWrite(t *testing.T) {
	s, _ := newStore(t)
	chart(t, s, "US", noon, page(titled("a", "A")))
	changed := dataVersion(t, s)
	claimNone(t, s, by("a", noon))
	if changed() {
		t.Error("a claim of nothing: got a write, want none")
	}
}

// Slots added while a clock was ahead count for nothing once the clock is right: they neither keep a present slot from
// being added, claimed and given back, nor make their series the freshest.
func TestSlotsInTheFutureAreIgnored(t *testing.T) {
	s, clock := newStore(t)
	addDue(t, s, due("US", noon), due("GB", noon))
	for range 2 {
		finish(t, s, claim(t, s, by("a", noon)), ingest.Done, "")
	}
	later := clock.move(365 * 24 * time.Hour)
	addDue(t, s, due("US", later))
	if _, err := s.SavePage(t.Context(), claim(t, s, by("b", later)), page(titled("a", "A"))); err != nil {
		t.Fatal(err)
	}
	clock.move(-365*24*time.Hour + time.Hour)
	now := noon.Add(time.Hour)
	known, err := s.Newest(t.Context(), now)
	if err != nil || !known[ingest.Series{Job: "chart", Key: "US"}].Equal(noon) {
		t.Errorf("known at %v: %v, %v", now, known, err)
	}
	addDue(t, s, due("US", now))
	for _, who := range []string{"c", "d"} {
		slot := claim(t, s, by(who, now))
		if !slot.DueAt.Equal(now) {
			t.Errorf("claimed %+v", slot.SlotKey)
		}
		if who == "c" {
			finish(t, s, slot, ingest.Due, "the ledger cannot answer")
			wantStates(t, s, "US 12:00 claimed", "US 13:00 due", "GB 12:00 done", "US 12:00 done")
		}
	}
	of, err := s.SlotSummary(t.Context(), now, now)
	ahead := of.Ahead
	if err != nil || len(ahead) != 1 || !ahead[0].DueAt.Equal(later) {
		t.Errorf("in the future: %+v, %v", ahead, err)
	}
	if n, err := s.RemoveFuture(t.Context(), now); err != nil || n != 1 {
		t.Errorf("removed %d, %v, want 1", n, err)
	}
	wantStates(t, s, "US 13:00 claimed", "GB 12:00 done", "US 12:00 done")
	hits, err := s.Search(t.Context(), store.SearchQuery{Text: "A"})
	if err != nil || len(hits.Items) != 1 || !hits.Items[0].SeenAt.Equal(now) {
		t.Errorf("the video: %+v, %v", hits, err)
	}
	if old, err := s.VideosToRefresh(t.Context(), now.Add(ingest.RefreshAfter+time.Second), 0, 9); err != nil || len(old) != 1 {
		t.Errorf("it is never refreshed: %v, %v", old, err)
	}
	if found, err := s.CheckOpen(t.Context()); err != nil || len(found) > 0 {
		t.Errorf("then the tables disagree: %v, %v, want none", found, err)
	}
}

// Calls made while a clock was ahead were made: their cost outlives the slots that doctor --repair removes.
func TestTheSpendsOfSlotsInTheFutureAreKept(t *testing.T) {
	s, clock := newStore(t)
	spend := func(at time.Time, units int64) {
		t.Helper()
		addDue(t, s, due("US", at))
		slot := claim(t, s, by("a", at))
		slot.Charge(map[string]int64{"units": units, "search": 1}, false)
		finish(t, s, slot, ingest.Done, "")
	}
	spend(noon, 1)
	for _, hours := range []time.Duration{20, 24} {
		spend(clock.move(hours*time.Hour), 4)
	}
	now := clock.move(-44*time.Hour + 29*time.Minute)
	remove := func(want int) {
		t.Helper()
		if n, err := s.RemoveFuture(t.Context(), now); err != nil || n != want {
			t.Errorf("removed %d, %v, want %v", n, err, want)
		}
		if found, err := s.CheckOpen(t.Context()); err != nil || len(found) > 0 {
			t.Errorf("then the tables disagree: %v, %v, want none", found, err)
		}
	}
	wantSpent := func(of ...int64) {
		t.Helper()
		slots, err := s.SpentSlots(t.Context(), noon)
		if err != nil || len(slots) != len(of) {
			t.Fatalf("%+v, %v, want %d slots", slots, err, len(of))
		}
		for i, slot := range slots {
			if slot.Units != of[i] || slot.Charges["units"] != of[i] || slot.Key != "US" || slot.Kind != ingest.KindChart || slot.DueAt.After(now) {
				t.Errorf("spent %+v, want %d", slot, of[i])
			}
		}
	}
	remove(2)
	wantSpent(8, 1)
	remove(0)
	clock.move(48 * time.Hour)
	spend(clock.now(), 5)
	clock.move(-48 * time.Hour)
	remove(1) // in the same second
	wantSpent(13, 1)
	if known, err := s.Newest(t.Context(), now); err != nil || !known[ingest.Series{Job: "chart", Key: "US"}].Equal(noon) {
		t.Errorf("the newest tick is %v, %v", known, err)
	}
}
