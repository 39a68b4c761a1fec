package store_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/store"
)

// states are the slots' states, newest first, as "US 12:00 due".
func states(t *testing.T, s *store.Store, f store.SlotFilter) []string {
	t.Helper()
	slots, err := s.ListSlots(t.Context(), f)
	if err != nil {
		t.Fatal(err)
	}
	out := []string{}
	for _, slot := range slots {
		out = append(out, fmt.Sprintf("%s %s %s", slot.Key, slot.DueAt.Format("15:04"), slot.State))
	}
	return out
}

func wantStates(t *testing.T, s *store.Store, want ...string) {
	t.Helper()
	if got := states(t, s, store.SlotFilter{}); !slices.Equal(got, want) {
		t.Errorf("slots are\n%q, want\n%q", got, want)
	}
}

func finish(t *testing.T, s *store.Store, slot ingest.Slot, state ingest.State, reason string) {
	t.Helper()
	slot.State, slot.Reason = state, reason
	if err := s.Finish(t.Context(), slot); err != nil {
		t.Fatal(err)
	}
}

func TestAddDueLeavesWhatIsThere(t *testing.T) {
	s, _ := newStore(t)
	addDue(t, s, due("US", noon))
	finish(t, s, claim(t, s, by("a", noon)), ingest.Failed, "broken")
	version := dataVersion(t, s)
	addDue(t, s, due("US", noon))
	wantStates(t, s, "US 12:00 failed")
	if version() {
		t.Error("it wrote although there was nothing to add")
	}
	addDue(t, s)
	if version() {
		t.Error("it wrote although nothing was given")
	}
}

// dataVersion reports whether anybody has written to the store since the last call.
func dataVersion(t *testing.T, s *store.Store) (changed func() bool) {
	t.Helper()
	db := raw(t, s.Path())
	db.SetMaxOpenConns(1) // the version is one connection's view
	last := scalar[int](t, db, `PRAGMA data_version`)
	return func() bool {
		now := scalar[int](t, db, `PRAGMA data_version`)
		defer func() { last = now }()
		return now != last
	}
}

func TestANewDueSlotSupersedesOlderOnes(t *testing.T) {
	s, clock := newStore(t)
	at := func(m int) time.Time { return noon.Add(time.Duration(m) * time.Minute) }
	addDue(t, s, due("US", at(0)))
	addDue(t, s, due("DE", at(0)))
	addDue(t, s, due("IN", at(0)), due("FR", at(0)))
	only := func(region string) ingest.Claim {
		c := by("a", clock.now())
		c.Series = map[ingest.Series]bool{{Job: "chart", Key: region}: true}
		return c
	}
	finish(t, s, claim(t, s, only("IN")), ingest.Stopped, "units are spent")
	claim(t, s, only("DE"))
	clock.move(10 * time.Minute)
	claim(t, s, only("FR"))
	clock.move(time.Minute) // the lease of DE is over, that of FR is not
	missed := due("US", at(5))
	missed.State, missed.Reason = ingest.Missed, "nothing ran"
	addDue(t, s, missed, due("US", at(10)), due("DE", at(10)), due("IN", at(10)), due("FR", at(10)))
	wantStates(t, s,
		"DE 12:10 due", "FR 12:10 due", "IN 12:10 due", "US 12:10 due",
		"US 12:05 missed",
		"DE 12:00 skipped", "FR 12:00 claimed", "IN 12:00 stopped", "US 12:00 skipped")
	slots, err := s.ListSlots(t.Context(), store.SlotFilter{Until: at(1)})
	if err != nil {
		t.Fatal(err)
	}
	const superseded = "superseded by the slot of 2026-02-14T12:10:00Z"
	for i, want := range []string{superseded, "", "units are spent", superseded} {
		if slots[i].Reason != want {
			t.Errorf("%s: reason %q, want %q", slots[i].Key, slots[i].Reason, want)
		}
	}

	clock.move(5 * time.Minute) // now FR's lease is over too: its old slot is skipped, the new one claimed
	slot := claim(t, s, only("FR"))
	if !slot.DueAt.Equal(at(10)) {
		t.Errorf("claimed the slot of %v", slot.DueAt)
	}
	if got := states(t, s, store.SlotFilter{Key: "FR"}); !slices.Equal(got, []string{"FR 12:10 claimed", "FR 12:00 skipped"}) {
		t.Errorf("got %q", got)
	}
}

func TestASlotReleasedTooLateIsSuperseded(t *testing.T) {
	s, _ := newStore(t)
	addDue(t, s, due("US", noon))
	old := claim(t, s, by("a", noon))
	addDue(t, s, due("US", noon.Add(time.Hour)))
	finish(t, s, old, ingest.Due, "interrupted")
	wantStates(t, s, "US 13:00 due", "US 12:00 skipped")
	finish(t, s, claim(t, s, by("b", noon)), ingest.Done, "")
	claimNone(t, s, by("b", noon))
	slots, err := s.ListSlots(t.Context(), store.SlotFilter{State: ingest.Skipped})
	if err != nil || len(slots) != 1 || slots[0].Reason != "superseded by the slot of 2026-02-14T13:00:00Z" {
		t.Errorf("skipped %+v, %v", slots, err)
	}
}

func TestTwoSlotsOfASeriesNeverRunAtOnce(t *testing.T) {
	s, clock := newStore(t)
	addDue(t, s, due("US", noon))
	first := claim(t, s, by("a", noon))
	addDue(t, s, due("US", noon.Add(time.Minute)), due("GB", noon))
	other := claim(t, s, by("b", noon))
	if other.Key != "GB" {
		t.Errorf("claimed %s %s while %s runs", other.Key, other.DueAt, first.DueAt)
	}
	finish(t, s, other, ingest.Done, "")
	claimNone(t, s, by("b", clock.now()))

	first.Pages, first.Lease = 1, noon.Add(8*time.Minute) // a page more: the claim holds longer
	first, err := s.SavePage(t.Context(), first, page(titled("a", "A")))
	if err != nil {
		t.Fatal(err)
	}
	claimNone(t, s, by("b", clock.move(7*time.Minute)))
	finish(t, s, first, ingest.Done, "")
	if got := claim(t, s, by("b", clock.now())); !got.DueAt.Equal(noon.Add(time.Minute)) {
		t.Errorf("after its end claimed %s %s", got.Key, got.DueAt)
	}

	addDue(t, s, due("US", noon.Add(2*time.Minute)))
	if got := claim(t, s, by("c", clock.move(time.Hour))); !got.DueAt.Equal(noon.Add(2 * time.Minute)) {
		t.Errorf("after the lease claimed %s %s", got.Key, got.DueAt)
	}
}

func TestADueSlotThatComesTooLateEndsAsItIsAdded(t *testing.T) {
	s, _ := newStore(t)
	chart(t, s, "US", noon, page(titled("a", "A")))
	addDue(t, s, due("US", noon.Add(-time.Hour)), due("GB", noon), due("GB", noon.Add(-time.Hour)))
	wantStates(t, s, "GB 12:00 due", "US 12:00 done", "GB 11:00 skipped", "US 11:00 skipped")
}

func TestWhatTheConfigNoLongerHasEndsWithAReason(t *testing.T) {
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
	clock.move(time.Minute) // the lease of DE is over, that of FR is not
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
		t.Error("it wrote although nothing was left to end")
	}
	finish(t, s, running, ingest.Due, "interrupted")
	retire()
	if got := claim(t, s, by("b", clock.now())); got.Key != "IN" {
		t.Errorf("claimed %s", got.Key)
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
		t.Errorf("claimed %s", got.Key)
	}
}

func TestAStoppedSlotKeepsItsReasonUntilItIsClaimedAgain(t *testing.T) {
	s, _ := newStore(t)
	addDue(t, s, due("US", noon), due("GB", noon))
	for range 2 {
		slot := claim(t, s, ingest.Claim{Owner: "a", Now: noon, Lease: time.Minute, Except: map[ingest.SlotKey]bool{due("GB", noon).SlotKey: true}})
		slot.RetryAt = noon.Add(time.Hour)
		finish(t, s, slot, ingest.Stopped, "units: 6 of 6 used")
	}
	addDue(t, s, due("US", noon.Add(time.Hour)))
	slots, err := s.ListSlots(t.Context(), store.SlotFilter{State: ingest.Stopped})
	if err != nil || len(slots) != 1 || slots[0].Reason != "units: 6 of 6 used" || slots[0].RetryAt.IsZero() {
		t.Fatalf("superseded: %+v, %v; want its reason", slots, err)
	}

	only := by("a", noon)
	only.Series = map[ingest.Series]bool{{Job: "chart", Key: "GB"}: true}
	slot := claim(t, s, only)
	slot.RetryAt = noon.Add(time.Hour)
	finish(t, s, slot, ingest.Stopped, "units: 6 of 6 used")
	again := claim(t, s, only)
	if again.Reason != "" || !again.RetryAt.IsZero() {
		t.Errorf("claimed again with the reason %q, retry at %v", again.Reason, again.RetryAt)
	}
	finish(t, s, again, ingest.Done, again.Reason)
	slots, err = s.ListSlots(t.Context(), store.SlotFilter{State: ingest.Done})
	if err != nil || len(slots) != 1 || slots[0].Reason != "" || !slots[0].RetryAt.IsZero() {
		t.Errorf("done: %+v, %v; want no reason", slots, err)
	}
}

func TestNewestIsTheLatestDueTimeInAnyState(t *testing.T) {
	s, _ := newStore(t)
	addDue(t, s, due("US", noon), due("GB", noon))
	addDue(t, s, due("US", noon.Add(time.Hour)))
	got, err := s.Newest(t.Context(), time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC))
	if err != nil {
		t.Fatal(err)
	}
	us, gb := ingest.Series{Job: "chart", Key: "US"}, ingest.Series{Job: "chart", Key: "GB"}
	if len(got) != 2 || !got[us].Equal(noon.Add(time.Hour)) || !got[gb].Equal(noon) {
		t.Errorf("got %v", got)
	}
}

func TestTheLeastFreshSeriesIsClaimedFirst(t *testing.T) {
	s, clock := newStore(t)
	chart(t, s, "US", noon, page(titled("a", "A")))
	chart(t, s, "DE", clock.move(time.Millisecond), page(titled("a", "A"))) // a millisecond fresher
	at := noon.Add(time.Hour)
	addDue(t, s, due("DE", at), due("US", at), due("IN", at), due("GB", at.Add(-time.Minute)))
	want := []string{"GB", "IN", "US", "DE"} // never fetched, the oldest due first; then by age
	for _, region := range want {
		if got := claim(t, s, by("a", at)); got.Key != region {
			t.Errorf("claimed %s, want %s", got.Key, region)
		}
	}
	claimNone(t, s, by("a", at))
}

func TestClaimHandsOutWhatIsWantedOnly(t *testing.T) {
	s, _ := newStore(t)
	addDue(t, s, due("US", noon), due("GB", noon))
	c := by("a", noon)
	c.Series = map[ingest.Series]bool{{Job: "chart", Key: "US"}: true, {Job: "other", Key: "GB"}: true}
	c.Except = map[ingest.SlotKey]bool{due("US", noon).SlotKey: true}
	claimNone(t, s, c)
	c.Except = map[ingest.SlotKey]bool{due("US", noon.Add(time.Second)).SlotKey: true}
	got := claim(t, s, c)
	want := due("US", noon)
	want.State, want.Owner, want.Attempt, want.Tries, want.Lease = ingest.Claimed, "a", 1, 1, noon.Add(5*time.Minute)
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("claimed %+v, want %+v", got, want)
	}
	c.Series = map[ingest.Series]bool{}
	claimNone(t, s, c)
}

func TestAStoppedSlotIsClaimedAgainUntilANewerOneExists(t *testing.T) {
	s, _ := newStore(t)
	addDue(t, s, due("US", noon))
	slot := claim(t, s, by("a", noon))
	slot.Token, slot.Pages, slot.Units, slot.TokenAt = "next", 2, 3, noon
	slot.RetryAt = noon.Add(time.Hour)
	finish(t, s, slot, ingest.Stopped, "units are spent")
	again := claim(t, s, by("b", noon))
	if again.Attempt != 2 || again.Token != "next" || !again.TokenAt.Equal(noon) || again.Pages != 2 || again.Units != 3 {
		t.Errorf("claimed %+v", again)
	}
	finish(t, s, again, ingest.Stopped, "still spent")
	later := due("US", noon.Add(time.Hour))
	addDue(t, s, later)
	got := claim(t, s, by("c", noon.Add(time.Hour)))
	if !got.DueAt.Equal(later.DueAt) {
		t.Errorf("claimed the slot of %v", got.DueAt)
	}
	finish(t, s, got, ingest.Done, "")
	claimNone(t, s, by("c", noon.Add(time.Hour)))
}

func TestOnlyTheLastClaimMayWrite(t *testing.T) {
	s, clock := newStore(t)
	addDue(t, s, due("US", noon))
	first := claim(t, s, by("a", clock.now()))
	second := claim(t, s, by("a", clock.move(5*time.Minute))) // the same owner: the attempt tells them apart
	changed := dataVersion(t, s)
	writes := map[string]func(ingest.Slot) error{
		"Finish": func(slot ingest.Slot) error { slot.State = ingest.Done; return s.Finish(t.Context(), slot) },
		"SavePage": func(slot ingest.Slot) error {
			slot.Pages++
			_, err := s.SavePage(t.Context(), slot, page(titled("a", "Late")))
			return err
		},
		"SaveVideos": func(slot ingest.Slot) error {
			_, err := s.SaveVideos(t.Context(), slot, []string{"a"}, page())
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
	if changed() {
		t.Error("a fenced claim wrote")
	}
	finish(t, s, second, ingest.Done, "")
	for name, write := range writes {
		if err := write(second); !errors.Is(err, ingest.ErrFenced) {
			t.Errorf("%s after the end: %v, want ErrFenced", name, err)
		}
	}
}

func TestClaimWithNothingDueDoesNotWrite(t *testing.T) {
	s, _ := newStore(t)
	chart(t, s, "US", noon, page(titled("a", "A")))
	changed := dataVersion(t, s)
	claimNone(t, s, by("a", noon))
	if changed() {
		t.Error("it wrote")
	}
}

func TestEachSlotIsClaimedOnceHoweverManyAsk(t *testing.T) {
	dir, clock := t.TempDir(), &handClock{t: noon}
	stores := []*store.Store{open(t, dir, clock), open(t, dir, clock)}
	const slots = 60
	for i := range slots {
		addDue(t, stores[0], due(fmt.Sprintf("R%02d", i), noon))
	}
	var mu sync.Mutex
	claimed := map[string]int{}
	var wg sync.WaitGroup
	for i := range 6 {
		wg.Go(func() {
			for {
				slot, ok, err := stores[i%2].Claim(t.Context(), by(fmt.Sprint(i), noon))
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
			t.Errorf("%s was claimed %d times", key, n)
		}
	}
	if len(claimed) != slots {
		t.Errorf("%d of %d slots were claimed", len(claimed), slots)
	}
}

func TestListSlotsFilters(t *testing.T) {
	s, _ := newStore(t)
	chart(t, s, "US", noon, page(titled("a", "A")))
	addDue(t, s, due("US", noon.Add(time.Hour)), due("GB", noon))
	refresh := due("", noon)
	refresh.Job, refresh.Kind = "refresh", ingest.KindRefresh
	addDue(t, s, refresh)
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

// What was added while a clock was ahead counts for nothing once the clock is right: it neither keeps a slot of the
// present from being added and claimed, nor makes its series the freshest.
func TestSlotsInTheFutureAreIgnored(t *testing.T) {
	s, clock := newStore(t)
	addDue(t, s, due("US", noon), due("GB", noon))
	for range 2 {
		finish(t, s, claim(t, s, by("a", noon)), ingest.Done, "")
	}
	later := clock.move(365 * 24 * time.Hour)
	addDue(t, s, due("US", later))
	if _, err := s.SavePage(t.Context(), claim(t, s, by("b", later)), ingest.Page{}); err != nil {
		t.Fatal(err)
	}
	clock.move(-365*24*time.Hour + time.Hour)
	now := noon.Add(time.Hour)
	known, err := s.Newest(t.Context(), now)
	if err != nil || !known[ingest.Series{Job: "chart", Key: "US"}].Equal(noon) {
		t.Errorf("known at %v: %v, %v", now, known, err)
	}
	addDue(t, s, due("US", now))
	if slot := claim(t, s, by("c", now)); !slot.DueAt.Equal(now) {
		t.Errorf("claimed %+v", slot.SlotKey)
	}
	ahead, err := store.InspectFuture(t.Context(), filepath.Dir(s.Path()), now)
	if err != nil || len(ahead) != 1 || !ahead[0].DueAt.Equal(later) {
		t.Errorf("in the future: %+v, %v", ahead, err)
	}
	if n, err := s.RemoveFuture(t.Context(), now); err != nil || n != 1 {
		t.Errorf("removed %d, %v", n, err)
	}
	wantStates(t, s, "US 13:00 claimed", "GB 12:00 done", "US 12:00 done")
	if found, err := s.Check(t.Context()); err != nil || len(found) > 0 {
		t.Errorf("then the tables disagree: %v, %v", found, err)
	}
}
