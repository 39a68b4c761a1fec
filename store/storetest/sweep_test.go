package storetest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/store"
)

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

// Videos may be refreshed up to ingest.RefreshEarly before their time, oldest first; CountToRefresh counts them by day.
// A video last charted too long before its refresh time is not refreshed early either.
func testRefreshesAreCountedByDay(t *testing.T, open Open) {
	s, clock := newStore(t, open)
	for id, days := range map[string]time.Duration{"a": 0, "b": 1, "c": 1, "d": 4, "e": 5} {
		Chart(t, s, []string{"US", "GB", "DE", "FR", "IN"}[id[0]-'a'], noon.Add(days*day), Page(Titled(id, id)))
	}
	if early := ingest.RefreshAfter - ingest.RefreshEarly; early != 20*day {
		t.Errorf("a refresh begins after %v, want 20 days", early)
	}
	now := noon.Add(ingest.RefreshAfter + time.Second)
	if got, err := s.CountToRefresh(t.Context(), now, 9); err != nil || fmt.Sprint(got) != "[1 2 0 0 1 1]" {
		t.Errorf("%v, %v, want \"[1 2 0 0 1 1]\"", got, err)
	}
	if got, err := s.CountToRefresh(t.Context(), now, 2); err != nil || got[0] != 1 || got[1] != 1 {
		t.Errorf("of the oldest two: %v, %v, want 1 and 1", got, err)
	}
	slot := RefreshSlot(t, s, now)
	for early, want := range map[time.Duration]int{0: 1, day: 3, ingest.RefreshEarly: 5} {
		if got, err := s.VideosToRefresh(t.Context(), now, early, 9); err != nil || len(got) != want || got[0] != "a" {
			t.Errorf("%v early: %q, %v, want %v and \"a\"", early, got, err, want)
		}
	}
	clock.move(now.Sub(clock.now()))
	slot.Pages++
	// last in a chart 20 days ago
	if _, _, err := s.SaveVideos(t.Context(), slot, ingest.Asked{IDs: []string{"e"}}, Page(Titled("e", "e"))); err != nil {
		t.Fatal(err)
	}
	if got, err := s.CountToRefresh(t.Context(), now.Add(21*day), 9); err != nil || fmt.Sprint(got) != "[0 0 0 0 0 0]" {
		t.Errorf("when no chart has shown it for a month: %v, %v", got, err)
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
	if got := Stale(t, s, noon.Add(26*day), 99); !slices.Equal(got, []string{"found known", "found", "found charted",
		"found in a search", "kept known", "kept", "kept charted", "kept in a search"}) {
		t.Errorf("after 26 days %q are to be refreshed", got)
	}
	now := clock.move(26*day - time.Hour) // "let go" and "let go known" do not return
	Chart(t, s, "US", now, Page(Titled("found charted", "F"), Titled("kept charted", "K"), Titled("let go charted", "L")))
	key := ingest.SlotKey{Job: "search", DueAt: now}
	AddDue(t, s, ingest.Slot{SlotKey: key, Kind: ingest.KindSearch, State: ingest.Due})
	c := By("test", now)
	c.Series = map[ingest.Series]bool{key.Series(): true}
	ids := []string{"found in a search", "kept in a search", "let go in a search"}
	SaveFound(t, s, Enqueue(t, s, Claim(t, s, c), ids...), ids, ids...)
	refreshed := []string{"found", "found known", "kept", "kept known"}
	slot := RefreshSlot(t, s, now)
	slot.Pages, slot.FetchedAt = 1, now
	page := Page(Titled("found", "F"), Titled("found known", "F"), Titled("kept", "K"), Titled("kept known", "K"))
	if _, _, err := s.SaveVideos(t.Context(), slot, ingest.Asked{IDs: refreshed}, page); err != nil {
		t.Fatal(err)
	}
	if _, deleted, err := s.Sweep(t.Context(), noon.Add(29*day+time.Hour)); err != nil || deleted != 2 {
		t.Errorf("%d let-go videos are deleted on day 29, want 2: %v", deleted, err)
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
	got = Stale(t, s, noon.Add(54*day), 99)
	if slices.ContainsFunc(ids, func(id string) bool { return slices.Contains(got, id) }) {
		t.Errorf("%q are to be refreshed after a backfill let them go", got)
	}
	plan = ingest.Backfill{Kind: ingest.BackfillSearch, Spec: ingest.BackfillSpec{Upkeep: ingest.KeepFresh}, Created: noon}
	slot = Claim(t, s, PiecesOf(AddBackfill(t, s, plan, Of(ingest.Slice(noon.Add(-time.Hour), noon))), "a", clock.now()))
	Enqueue(t, s, slot, "kept") // it need not be fetched again
	if got := Stale(t, s, noon.Add(54*day), 99); !slices.Contains(got, "kept") {
		t.Errorf("\"kept\" is missing from %q after a keep-fresh search found it", got)
	}
}

// saveVideos saves the videos that came back for the ids asked, with equal titles, at a time.
func saveVideos(t *testing.T, s *store.Store, slot ingest.Slot, at time.Time, asked ingest.Asked,
	back ...string) (ingest.Slot, ingest.Absences) {
	t.Helper()
	slot.Pages++
	slot.FetchedAt = at
	var videos []ingest.Video
	for _, id := range back {
		videos = append(videos, Titled(id, "new "+id))
	}
	slot, absences, err := s.SaveVideos(t.Context(), slot, asked, Page(videos...))
	if err != nil {
		t.Fatal(err)
	}
	return slot, absences
}

// doubted returns the videos that a look-up left out before a time.
func doubted(t *testing.T, s *store.Store, before time.Time) []string {
	t.Helper()
	ids, err := s.VideosInDoubt(t.Context(), before, 99)
	if err != nil {
		t.Fatal(err)
	}
	return ids
}

func testSaveVideosRenewsWhatCameBackAndDeletesOnlyTheSecondTime(t *testing.T, open Open) {
	s, clock := newStore(t, open)
	clock.move(28 * day)
	Chart(t, s, "US", noon,
		Page(Titled("a", "Alt"), described(Titled("gone", "Verschwunden"), "Beschrieben"), Titled("c", "Chor")))
	now := noon.Add(26 * day)
	slot := RefreshSlot(t, s, now)
	slot, absences := saveVideos(t, s, slot, now, ingest.Asked{IDs: []string{"a", "gone", "unknown", "swept"}},
		"a", "unasked", "swept")
	if slot.Videos != 2 || absences != (ingest.Absences{Missing: 2, Doubted: 1}) {
		t.Errorf("%d videos counted, %+v", slot.Videos, absences)
	}
	if got := Ranks(t, s, "US"); got != "1 a, 2 gone, 3 c" ||
		len(Search(t, s, store.SearchQuery{Text: "verschwunden"})) != 1 {
		t.Errorf("after one look-up without \"gone\" the chart is %q", got)
	}
	if got := Stale(t, s, now, 9); !slices.Equal(got, []string{"c"}) ||
		!slices.Equal(doubted(t, s, now), []string{"gone"}) {
		t.Errorf("to be refreshed are %q, in doubt %q", got, doubted(t, s, now))
	}
	slot, absences = saveVideos(t, s, slot, now.Add(59*time.Minute), ingest.Asked{IDs: []string{"gone", "c"}}, "c")
	if slot.Videos != 3 || absences.Deleted != 0 {
		t.Errorf("asked again too soon: %d videos counted, %+v, want 3 and none deleted", slot.Videos, absences)
	}
	slot, absences = saveVideos(t, s, slot, now.Add(2*time.Hour), ingest.Asked{IDs: []string{"gone"}})
	if absences.Deleted != 0 {
		t.Errorf("an empty answer deletes %d, want 0", absences.Deleted)
	}
	slot, absences = saveVideos(t, s, slot, now.Add(3*time.Hour), ingest.Asked{IDs: []string{"a", "gone"}}, "a")
	if absences.Deleted != 0 {
		t.Errorf("asking again without witnesses deletes %d", absences.Deleted)
	}
	slot, absences = saveVideos(t, s, slot, now.Add(4*time.Hour),
		ingest.Asked{IDs: []string{"gone"}, Witnesses: []string{"a", "c"}}, "a", "c")
	if absences != (ingest.Absences{Missing: 1, Deleted: 1}) {
		t.Errorf("the second look-up: %+v", absences)
	}
	if got, want := Ranks(t, s, "US"), "1 a, 2 gone, 3 c"; got != want {
		t.Errorf("the chart is %q, want %q: placements outlive their video", got, want)
	}
	for text, want := range map[string]int{"new": 2, "alt": 0, "verschwunden": 0, "unasked": 0, "swept": 0} {
		if got := Search(t, s, store.SearchQuery{Text: text}); len(got) != want {
			t.Errorf("%s finds %v, want %d", text, got, want)
		}
	}
	if c, err := s.Chart(t.Context(), "US", now, false); err != nil || c.Items[1].Video.Title != "" {
		t.Errorf("the chart shows a deleted title: %q, %v, want \"\"", c.Items[1].Video.Title, err)
	}
	if h, err := s.History(t.Context(), store.HistoryQuery{VideoID: "gone"}); err != nil || h.Video.Description != "" {
		t.Errorf("the deleted video's description is kept: %q, %v, want \"\"", h.Video.Description, err)
	}
	Chart(t, s, "US", now.Add(5*time.Hour), Page(Titled("gone", "Wieder da")))
	if got := Search(t, s, store.SearchQuery{Text: "wieder"}); len(got) != 1 || len(doubted(t, s, now.Add(day))) != 0 {
		t.Errorf("the returned video is found %d times, want 1 and 0", len(got))
	}
	saveVideos(t, s, slot, now.Add(6*time.Hour), ingest.Asked{IDs: []string{"gone", "a"}}, "a")
	if got := Ranks(t, s, "US"); got != "1 gone" {
		t.Errorf("after its return and one omission the chart is %q, want \"1 gone\"", got)
	}
}

func testAnAnswerThatLacksMuchProvesNothing(t *testing.T, open Open) {
	s, _ := newStore(t, open)
	var ids []string
	var videos []ingest.Video
	for i := range 20 {
		ids = append(ids, fmt.Sprintf("v%02d", i))
		videos = append(videos, Titled(ids[i], "title"))
	}
	Chart(t, s, "US", noon, Page(videos...))
	now := noon.Add(26 * day)
	slot := RefreshSlot(t, s, now)
	for i, back := range [][]string{{}, ids[:15], ids[5:], {}, ids[:10]} {
		var absences ingest.Absences
		slot, absences = saveVideos(t, s, slot, now.Add(time.Duration(2*i)*time.Hour), ingest.Asked{IDs: ids}, back...)
		if want := (ingest.Absences{Missing: 20 - len(back), Doubted: 20 - len(back), Suspect: true}); absences != want {
			t.Errorf("answer %d: %+v, want %+v", i, absences, want)
		}
	}
	if got := Ranks(t, s, "US"); strings.Count(got, "v") != 20 ||
		len(Search(t, s, store.SearchQuery{Text: "title"}))+len(Search(t, s, store.SearchQuery{Text: "new"})) == 0 {
		t.Errorf("after five suspect answers the chart is %q", got)
	}
	if got := doubted(t, s, now.Add(day)); len(got) != 10 {
		t.Errorf("%d are in doubt, want the last answer's 10: %q", len(got), got)
	}
	witnesses, err := s.Witnesses(t.Context(), 99)
	if err != nil || len(witnesses) != 10 ||
		slices.ContainsFunc(witnesses, func(id string) bool { return slices.Contains(ids[10:], id) }) {
		t.Errorf("the witnesses are %q, %v", witnesses, err)
	}
	ask := ingest.Asked{IDs: ids[10:], Witnesses: witnesses}
	var absences ingest.Absences
	if slot, absences = saveVideos(t, s, slot, now.Add(30*time.Hour), ask, witnesses[1:]...); !absences.Suspect {
		t.Errorf("an answer without one of its witnesses: %+v", absences)
	}
	if slot, absences = saveVideos(t, s, slot, now.Add(40*time.Hour), ask, witnesses...); absences.Doubted != 10 ||
		absences.Suspect {
		t.Errorf("the first proof: %+v", absences)
	}
	if _, absences = saveVideos(t, s, slot, now.Add(50*time.Hour), ask, witnesses...); absences.Deleted != 10 {
		t.Errorf("the second proof: %+v, want Deleted 10", absences)
	}
	if p, v, err := s.Sweep(t.Context(), now.Add(50*time.Hour)); err != nil || p != 0 || v != 0 {
		t.Errorf("swept %d, %d, %v, want 0 and 0", p, v, err)
	}
	if p, _, err := s.Sweep(t.Context(), noon.Add(ingest.KeepFor+time.Second)); err != nil || p != 20 {
		t.Errorf("%d placements deleted after KeepFor, %v, want 20", p, err)
	}
}

func testOldSlotsAreDeletedExceptThoseStillNeeded(t *testing.T, open Open) {
	s, clock := newStore(t, open)
	var slots []ingest.Slot
	for i := range 2500 { // too many for one transaction
		slot := Due("US", noon.Add(time.Duration(i)*time.Second))
		slot.State, slot.Reason = ingest.Missed, fmt.Sprint("nothing ran, ", i%2) // equal reasons merge
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
	AddDue(t, s, Due("IN", noon.Add(20*day))) // the failed slot may go

	for range 2 {
		if _, _, err := s.Sweep(t.Context(), clock.now().Add(ingest.KeepFor+time.Hour)); err != nil {
			t.Fatal(err)
		}
		WantStates(t, s, "FR 12:00 due", "IN 12:00 due", "US 12:41 missed", "DE 12:00 due",
			"FR 12:00 claimed", "GB 12:00 done")
	}
	newest, err := s.Newest(t.Context(), time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC))
	if us := (ingest.Series{Job: "chart", Key: "US"}); err != nil || !newest[us].Equal(slots[2499].DueAt) {
		t.Errorf("newest of US %v, %v: the schedule would go back", newest[us], err)
	}
}
