package storetest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/store"
)

const day = 24 * time.Hour

// RefreshSlot returns a claimed slot of a refresh.
func RefreshSlot(t *testing.T, s *store.Store, at time.Time) ingest.Slot {
	t.Helper()
	slot := ingest.Slot{SlotKey: ingest.SlotKey{Job: "refresh", DueAt: at}, Kind: ingest.KindRefresh, State: ingest.Due}
	AddDue(t, s, slot)
	c := By("test", at)
	c.Series = map[ingest.Series]bool{{Job: "refresh"}: true}
	return Claim(t, s, c)
}

// Stale returns up to n ids of videos to refresh.
func Stale(t *testing.T, s *store.Store, now time.Time, n int) []string {
	t.Helper()
	ids, err := s.VideosToRefresh(t.Context(), now, n)
	if err != nil {
		t.Fatal(err)
	}
	if count, err := s.CountToRefresh(t.Context(), now, n); err != nil || count != len(ids) {
		t.Errorf("counted %d of %d videos to refresh: %v", count, len(ids), err)
	}
	return ids
}

func testVideosSeenLatelyAndFetchedLongAgoAreRefreshed(t *testing.T, open Open) {
	s, _ := newStore(t, open)
	Chart(t, s, "US", noon, Page(Titled("b", "B"), Titled("a", "A")))
	Chart(t, s, "US", noon.Add(day), Page(Titled("c", "C")))
	Chart(t, s, "US", noon.Add(10*day), Page(Titled("d", "D")))
	tests := []struct {
		after time.Duration
		n     int
		want  []string
	}{
		{ingest.RefreshAfter, 9, nil},
		{ingest.RefreshAfter + time.Second, 9, []string{"b", "a"}},
		{27 * day, 9, []string{"b", "a", "c"}},
		{27 * day, 2, []string{"b", "a"}},
		{ingest.KeepFor + time.Second, 9, []string{"c"}}, // the others are for Sweep
	}
	for _, tt := range tests {
		if got := Stale(t, s, noon.Add(tt.after), tt.n); !slices.Equal(got, tt.want) {
			t.Errorf("after %v: %v, want %v", tt.after, got, tt.want)
		}
	}
}

func testABackfillSaysWhetherItsVideosAreRefreshed(t *testing.T, open Open) {
	s, clock := newStore(t, open)
	back := func(name string, upkeep ingest.Upkeep, known ...string) {
		plan := Plan(name)
		plan.Spec.Upkeep, plan.Created = upkeep, clock.now()
		Chart(t, s, "GB", clock.now(), Page(Titled(known[0], "fetched by a chart meanwhile")))
		ids := append([]string{name, name + " charted", name + " in a search"}, known...)
		slot := Claim(t, s, PiecesOf(AddBackfill(t, s, plan, Of(ingest.Piece{Key: "1", IDs: ids})), "a", clock.now()))
		slot.State = ingest.Done
		SaveFound(t, s, slot, ids[:3], ids[:3]...)
		clock.move(time.Minute)
	}
	back("found", "", "found known")
	back("kept", ingest.KeepFresh, "kept known")
	back("let go", ingest.LetGo, "let go known")
	if got := Stale(t, s, noon.Add(26*day), 99); !slices.Equal(got, []string{"found known", "found", "found charted", "found in a search",
		"kept known", "kept", "kept charted", "kept in a search"}) {
		t.Errorf("after 26 days %q are to be refreshed", got)
	}

	now := clock.move(26*day - time.Hour) // all are found again, but for those that are refreshed
	Chart(t, s, "US", now, Page(Titled("found charted", "F"), Titled("kept charted", "K"), Titled("let go charted", "L")))
	search := ingest.Slot{SlotKey: ingest.SlotKey{Job: "search", DueAt: now}, Kind: ingest.KindSearch, State: ingest.Due}
	AddDue(t, s, search)
	c := By("test", now)
	c.Series = map[ingest.Series]bool{{Job: "search"}: true}
	ids := []string{"found in a search", "kept in a search", "let go in a search"}
	SaveFound(t, s, Enqueue(t, s, Claim(t, s, c), ids...), ids, ids...)
	refreshed := []string{"found", "found known", "kept", "kept known"}
	slot := RefreshSlot(t, s, now)
	slot.Pages, slot.FetchedAt = 1, now
	if _, err := s.SaveVideos(t.Context(), slot, refreshed, Page(Titled("found", "F"), Titled("found known", "F"), Titled("kept", "K"),
		Titled("kept known", "K"))); err != nil {
		t.Fatal(err)
	}
	if _, deleted, err := s.Sweep(t.Context(), noon.Add(29*day+time.Hour)); err != nil || deleted != 2 {
		t.Errorf("%d of the let go are deleted on day 29, want 2: %v", deleted, err)
	}
	got := Stale(t, s, noon.Add(54*day), 99)
	slices.Sort(got)
	if want := []string{"found charted", "found in a search", "kept", "kept charted", "kept in a search", "kept known",
		"let go charted", "let go in a search"}; !slices.Equal(got, want) {
		t.Errorf("after 54 days %q are to be refreshed, want %q", got, want)
	}
	clock.move(time.Hour)
	ids = []string{"kept", "kept charted", "kept in a search", "kept known"}
	plan := Plan("away")
	plan.Spec.Upkeep = ingest.LetGo
	slot = Claim(t, s, PiecesOf(AddBackfill(t, s, plan, Of(ingest.Piece{Key: "1", IDs: ids})), "a", clock.now()))
	SaveFound(t, s, slot, ids, ids...)
	if got := Stale(t, s, noon.Add(54*day), 99); slices.ContainsFunc(ids, func(id string) bool { return slices.Contains(got, id) }) {
		t.Errorf("after another backfill let them go %q are to be refreshed", got)
	}
	plan = ingest.Backfill{Kind: ingest.BackfillSearch, Spec: ingest.BackfillSpec{Upkeep: ingest.KeepFresh}, Created: noon}
	slot = Claim(t, s, PiecesOf(AddBackfill(t, s, plan, Of(ingest.Slice(noon.Add(-time.Hour), noon))), "a", clock.now()))
	Enqueue(t, s, slot, "kept") // which need not be fetched again
	if got := Stale(t, s, noon.Add(54*day), 99); !slices.Contains(got, "kept") {
		t.Errorf("after a search found what it keeps fresh %q are to be refreshed", got)
	}
}

func testSaveVideosRenewsWhatCameBackAndDeletesTheRest(t *testing.T, open Open) {
	s, _ := newStore(t, open)
	Chart(t, s, "US", noon, Page(Titled("a", "Alt"), Titled("gone", "Verschwunden"), Titled("c", "Chor")))
	now := noon.Add(26 * day)
	slot := RefreshSlot(t, s, now)
	slot.Pages, slot.Units, slot.FetchedAt = 1, 1, now
	slot, err := s.SaveVideos(t.Context(), slot, []string{"a", "gone", "unknown", "swept"},
		Page(Titled("a", "Neu"), Titled("unasked", "Ungefragt"), Titled("swept", "Inzwischen weg")))
	if err != nil {
		t.Fatal(err)
	}
	if slot.Videos != 2 {
		t.Errorf("%d videos counted", slot.Videos)
	}
	if got, want := Ranks(t, s, "US"), "1 a, 3 c"; got != want {
		t.Errorf("the chart is %q, want %q", got, want)
	}
	for text, want := range map[string]int{"neu": 1, "alt": 0, "verschwunden": 0, "ungefragt": 0, "inzwischen": 0, "chor": 1} {
		if got := Search(t, s, store.SearchQuery{Text: text}); len(got) != want {
			t.Errorf("%s finds %v, want %d", text, got, want)
		}
	}
	if got := Stale(t, s, now, 9); !slices.Equal(got, []string{"c"}) {
		t.Errorf("still stale: %v", got)
	}
	slot.Pages, slot.State = 2, ingest.Done
	if slot, err = s.SaveVideos(t.Context(), slot, []string{"c"}, Page(Titled("c", "Chor"))); err != nil || slot.Videos != 3 {
		t.Errorf("page 2: %d videos, %v", slot.Videos, err)
	}
	listed, err := s.ListSlots(t.Context(), store.SlotFilter{Job: "refresh"})
	if err != nil || len(listed) != 1 || listed[0].State != ingest.Done || listed[0].Videos != 3 || listed[0].Units != 1 {
		t.Errorf("listed %+v, %v", listed, err)
	}
}

func testOldSlotsAreDeletedExceptThoseStillNeeded(t *testing.T, open Open) {
	s, clock := newStore(t, open)
	var slots []ingest.Slot
	for i := range 2500 { // more than one transaction deletes
		slot := Due("US", noon.Add(time.Duration(i)*time.Second))
		slot.State, slot.Reason = ingest.Missed, fmt.Sprint("nothing ran, ", i%2) // else they would be one
		slots = append(slots, slot)
	}
	AddDue(t, s, slots...)
	Chart(t, s, "GB", noon, Page(Titled("a", "A"))) // done, and the newest
	AddDue(t, s, Due("DE", noon))                   // waits
	AddDue(t, s, Due("FR", noon))
	only := By("a", noon)
	only.Series = map[ingest.Series]bool{{Job: "chart", Key: "FR"}: true}
	Claim(t, s, only) // runs, and its series has gone on
	AddDue(t, s, Due("FR", noon.Add(40*day)))
	AddDue(t, s, Due("IN", noon))
	only.Series = map[ingest.Series]bool{{Job: "chart", Key: "IN"}: true}
	Finish(t, s, Claim(t, s, only), ingest.Failed, "broken")
	AddDue(t, s, Due("IN", noon.Add(20*day))) // what is behind it may go

	for range 2 {
		if _, _, err := s.Sweep(t.Context(), clock.now().Add(ingest.KeepFor+time.Hour)); err != nil {
			t.Fatal(err)
		}
		WantStates(t, s, "FR 12:00 due", "IN 12:00 due", "US 12:41 missed", "DE 12:00 due", "FR 12:00 claimed", "GB 12:00 done")
	}
	newest, err := s.Newest(t.Context(), time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC))
	if us := (ingest.Series{Job: "chart", Key: "US"}); err != nil || !newest[us].Equal(slots[2499].DueAt) {
		t.Errorf("newest of US %v, %v: the schedule would go back", newest[us], err)
	}
}
