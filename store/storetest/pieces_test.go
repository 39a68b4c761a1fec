package storetest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/store"
)

// Ids that a channel's slot leaves to look up wait for the slot without a key, which takes them over; its note of its
// list is there for the channel's next slot.
func testUploadsOfAllChannelsAreLookedUpTogether(t *testing.T, open Open) {
	s, clock := newStore(t, open)
	slot := func(key string, at time.Time) ingest.Slot {
		t.Helper()
		due := ingest.Slot{SlotKey: ingest.SlotKey{Job: "creators", Key: key, DueAt: at},
			Kind: ingest.KindUploads, State: ingest.Due}
		AddDue(t, s, due)
		return Claim(t, s, ingest.Claim{Owner: "a", Now: clock.now(), Lease: time.Minute,
			Series: map[ingest.Series]bool{due.Series(): true}})
	}
	clock.move(time.Minute)
	one, two, still := slot("UC1", noon), slot("UC2", noon), slot("UC3", noon)
	one.Listing = &ingest.Listing{Channel: "UC1", Watch: &ingest.Watch{Newest: []string{"x", "y"}}}
	one, two = Enqueue(t, s, one, "x", "y"), Enqueue(t, s, two, "y", "z")
	Enqueue(t, s, still, "at work")
	Finish(t, s, one, ingest.Done, "")
	Finish(t, s, two, ingest.Done, "")
	all := Enqueue(t, s, slot("", noon))
	if got := QueuedIDs(t, s, all); !slices.Equal(got, []string{"x", "y", "z"}) {
		t.Errorf("%q wait for all channels, want [x y z]", got)
	}
	if got := QueuedIDs(t, s, one); len(got) > 0 {
		t.Errorf("%q still wait in the channel's slot, want none", got)
	}
	Finish(t, s, SaveFound(t, s, all, []string{"x", "y"}, "x", "y"), ingest.Stopped, "no quota")
	if got := QueuedIDs(t, s, Enqueue(t, s, slot("", noon.Add(time.Second)))); !slices.Equal(got, []string{"z"}) {
		t.Errorf("%q wait after the stop, want [z]", got)
	}
	piece, err := s.Piece(t.Context(), slot("UC1", noon.Add(time.Second)).SlotKey)
	if err != nil || piece.Listing.Watch == nil || !slices.Equal(piece.Listing.Watch.Newest, []string{"x", "y"}) {
		t.Errorf("the next slot knows %+v (%v)", piece.Listing, err)
	}
}

// The counts of a watch list are kept as a chart's placements, once for each video, and its history and the order by
// rise have them. An id that was looked up in vain is not queued again within a day.
func testTheCountsOfAWatchListAreKept(t *testing.T, open Open) {
	s, clock := newStore(t, open)
	count := func(at time.Time, views int64) {
		t.Helper()
		clock.move(at.Add(time.Minute).Sub(clock.now()))
		AddDue(t, s, ingest.Slot{SlotKey: ingest.SlotKey{Job: "mine", DueAt: at}, Kind: ingest.KindVideos, State: ingest.Due})
		slot := Enqueue(t, s, Claim(t, s, By("a", clock.now())), "x", "y", "none")
		switch got, want := QueuedIDs(t, s, slot), []string{"x", "y", "none"}; {
		case views == 100 && !slices.Equal(got, want):
			t.Fatalf("got %q waiting, want %q", got, want)
		case views == 100:
			slot = SaveFound(t, s, slot, want, "x", "y")
		case len(got) > 0:
			t.Errorf("got %q waiting again, want none", got)
		}
		for range 2 { // the second brings nothing new
			var err error
			slot.Pages++
			if slot, err = s.SaveCounts(t.Context(), slot, []string{"y", "x", "none"},
				[]ingest.Counts{{ID: "y", Views: &views}, {ID: "x"}}); err != nil {
				t.Fatal(err)
			}
		}
		Finish(t, s, slot, ingest.Done, "")
	}
	count(noon, 100)
	count(noon.Add(time.Hour), 150)
	h, err := s.History(t.Context(), store.HistoryQuery{VideoID: "y"})
	if err != nil || len(h.Sightings) != 2 || h.Sightings[1].Rank != nil || h.Sightings[1].Gained == nil ||
		*h.Sightings[1].Gained != 50 || h.Sightings[1].Region != "" {
		t.Errorf("its history is %+v (%v)", h.Sightings, err)
	}
	if charted, err := s.VideosCharted(t.Context(), noon.Add(-time.Hour)); err != nil || len(charted) > 0 {
		t.Errorf("charted were %v (%v), want none", charted, err)
	}
	Chart(t, s, "US", noon.Add(2*time.Hour), Page(Titled("z", "Z")))
	if charted, err := s.VideosCharted(t.Context(), noon.Add(-time.Hour)); err != nil ||
		!slices.Equal(charted, []string{"z"}) {
		t.Errorf("charted were %v (%v)", charted, err)
	}
}

func testAnIDIsLookedUpOnceHoweverOftenItIsFound(t *testing.T, open Open) {
	s, clock := newStore(t, open)
	b := Hunt(t, s)
	clock.move(time.Minute)
	one, two := Claim(t, s, PiecesOf(b, "a", noon)), Claim(t, s, PiecesOf(b, "a", noon))
	one = Enqueue(t, s, one, "x", "y", "x", "", strings.Repeat("z", 101), "gone")
	if got := QueuedIDs(t, s, one); !slices.Equal(got, []string{"x", "y", "gone"}) {
		t.Fatalf("%q wait, want [x y gone]", got)
	}
	two = Enqueue(t, s, two, "y", "w") // y waits in the other piece
	if got := QueuedIDs(t, s, two); !slices.Equal(got, []string{"w"}) {
		t.Errorf("in the second piece %q wait, want [w]", got)
	}
	one = SaveFound(t, s, one, []string{"x", "y", "gone"}, "y", "x", "no piece asked")
	two = Enqueue(t, s, two, "x", "gone") // x is kept and gone is known to be gone
	if got := QueuedIDs(t, s, two); !slices.Equal(got, []string{"w"}) || one.Videos != 2 {
		t.Errorf("after the first was saved %q wait, %d videos", got, one.Videos)
	}
	for _, slot := range []ingest.Slot{one, SaveFound(t, s, two, []string{"w"}, "w")} {
		Finish(t, s, slot, ingest.Done, "")
	}
	st := Status(t, s, b.ID)
	if st.Videos != 3 || st.Vanished != 1 || st.Waiting != 0 || st.Known != 4 || st.Open() != 0 ||
		st.Pieces[ingest.Done] != 2 {
		t.Errorf("%+v, want 3 videos, 1 vanished, 4 known, 2 pieces done", st)
	}
	if got := Search(t, s, store.SearchQuery{Text: "about"}); len(got) != 3 {
		t.Errorf("found %q, want 3 of them", got)
	}
}

func testWhatWasFetchedSinceIsNotLookedUp(t *testing.T, open Open) {
	s, clock := newStore(t, open)
	b := AddBackfill(t, s, Plan("x"), Of(ingest.Piece{Key: "1", IDs: []string{"old", "young", "old", "new"}}))
	Chart(t, s, "US", noon.Add(-time.Hour), Page(Titled("old", "Old")))
	Chart(t, s, "GB", noon, Page(Titled("young", "Young")))
	slot := Claim(t, s, PiecesOf(b, "a", clock.now()))
	if got := QueuedIDs(t, s, slot); !slices.Equal(got, []string{"old", "new"}) {
		t.Fatalf("%q wait, want [old new]", got)
	}
	slot.State = ingest.Done
	slot = SaveFound(t, s, slot, []string{"old", "new"}, "old", "new")
	if st := Status(t, s, b.ID); st.Videos != 2 || st.Known != 1 || st.Waiting != 0 || st.Pieces[ingest.Done] != 1 {
		t.Errorf("%+v, want 2 videos, 1 known, 1 piece done", st)
	}
	ClaimNone(t, s, PiecesOf(b, "a", clock.now()))
	if err := s.Finish(t.Context(), slot); !errors.Is(err, ingest.ErrFenced) {
		t.Errorf("a piece that is done is finished again: %v, want error %v", err, ingest.ErrFenced)
	}
}

func testHalvesAreAddedWithThePageThatWasTooMany(t *testing.T, open Open) {
	s, _ := newStore(t, open)
	b := Hunt(t, s)
	slot := Claim(t, s, PiecesOf(b, "a", noon))
	halves := []ingest.Piece{ingest.Slice(noon.Add(-time.Hour), noon.Add(-30*time.Minute)),
		ingest.Slice(noon.Add(-30*time.Minute), noon)}
	for range 2 { // again after a restart
		slot.Pages++
		var err error
		if slot, err = s.Enqueue(t.Context(), slot, []string{"x"}, noon, halves...); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	for range 3 {
		got = append(got, Claim(t, s, PiecesOf(b, "a", noon)).Key)
	}
	if want := []string{halves[1].Key, halves[0].Key,
		"2026-02-14T10:00:00Z/2026-02-14T11:00:00Z"}; !slices.Equal(got, want) {
		t.Errorf("next come %q, want %q", got, want)
	}
}

func testAnotherRunsPieceIsFenced(t *testing.T, open Open) {
	s, clock := newStore(t, open)
	b := Hunt(t, s)
	old := Claim(t, s, PiecesOf(b, "a", noon))
	taken := Claim(t, s, PiecesOf(b, "b", clock.move(6*time.Minute)))
	if taken.Key != old.Key || taken.Tries != 2 {
		t.Fatalf("took over %s, try %d, want %v and 2", taken.Key, taken.Tries, old.Key)
	}
	_, enqueue := s.Enqueue(t.Context(), old, []string{"x"}, noon)
	_, _, save := s.SaveFound(t.Context(), old, ingest.Asked{IDs: []string{"x"}}, Page(Titled("x", "X")))
	_, restart := s.Restart(t.Context(), old, 1)
	_, giveUp := s.GiveUp(t.Context(), old, "x", "")
	for _, err := range []error{enqueue, save, restart, giveUp} {
		if !errors.Is(err, ingest.ErrFenced) {
			t.Errorf("a late write is %v, want error %v", err, ingest.ErrFenced)
		}
	}
	if st := Status(t, s, b.ID); st.Videos+st.Vanished+st.Waiting+st.PaidTwice+st.GivenUp > 0 {
		t.Errorf("late writes left %+v, want none", st)
	}
}

func testACancelledBackfillEndsWithThePageInFlight(t *testing.T, open Open) {
	s, clock := newStore(t, open)
	b := AddBackfill(t, s, Plan("x"), Numbered(4))
	running, other := Claim(t, s, PiecesOf(b, "a", noon)), Claim(t, s, PiecesOf(b, "a", noon))
	lapsed := PiecesOf(b, "b", noon)
	lapsed.Lease = time.Second
	dead := Claim(t, s, lapsed)
	if did, err := s.CancelBackfill(t.Context(), b.ID, clock.move(time.Minute)); !did || err != nil {
		t.Fatal(did, err)
	}
	ClaimNone(t, s, PiecesOf(b, "c", clock.move(time.Hour)))
	ids := QueuedIDs(t, s, running)
	if got := SaveFound(t, s, running, ids, ids...); got.State != ingest.Skipped || got.Videos != 50 {
		t.Errorf("the page in flight left %+v, want %v and 50", got, ingest.Skipped)
	}
	Finish(t, s, other, ingest.Stopped, "units are spent")
	if err := s.Finish(t.Context(), dead); !errors.Is(err, ingest.ErrFenced) {
		t.Errorf("the dead one: %v, want error %v", err, ingest.ErrFenced)
	}
	st := Status(t, s, b.ID)
	if st.Pieces[ingest.Skipped] != 4 || st.Open() != 0 || st.Videos != 50 || !st.Cancelled.Equal(noon.Add(time.Minute)) {
		t.Errorf("%+v, want 50 videos, and 4 pieces skipped a minute after noon", st)
	}
	if did, err := s.CancelBackfill(t.Context(), b.ID, clock.now()); did || err != nil {
		t.Errorf("cancelled twice: %v %v", did, err)
	}
	if n, err := s.RetryBackfill(t.Context(), b.ID); n != 0 || err != nil {
		t.Errorf("retried %d, %v, want 0", n, err)
	}
	if _, err := s.FindBackfill(t.Context(), b.Identity()); !errors.Is(err, store.ErrNoBackfill) {
		t.Errorf("its flags find it still: %v, want error %v", err, store.ErrNoBackfill)
	}
}

func testWhatFailedIsTriedAgainWhenAPersonSaysSo(t *testing.T, open Open) {
	s, clock := newStore(t, open)
	b := AddBackfill(t, s, Plan("x"), Numbered(3))
	bad := Claim(t, s, PiecesOf(b, "a", noon))
	bad, err := s.GiveUp(t.Context(), bad, "i0000000007", "refused: no such id")
	if err != nil {
		t.Fatal(err)
	}
	ids := QueuedIDs(t, s, bad)
	bad.State = ingest.Done
	SaveFound(t, s, bad, ids, ids...)
	Finish(t, s, Claim(t, s, PiecesOf(b, "a", noon)), ingest.Failed, "the upstream is broken")
	Finish(t, s, Claim(t, s, PiecesOf(b, "a", noon)), ingest.Done, "")
	failures, err := s.FailedPieces(t.Context(), b.ID, 0)
	if want := "[{k00000 i0000000007 refused: no such id} {k00001  the upstream is broken}]"; err != nil ||
		fmt.Sprint(failures) != want {
		t.Errorf("failed %v, want %v; %v", failures, want, err)
	}
	if st := Status(t, s, b.ID); st.GivenUp != 1 || st.Vanished != 0 || st.Pieces[ingest.Failed] != 1 {
		t.Errorf("%+v, want 1, 0 and 1", st)
	}
	if n, err := s.RetryBackfill(t.Context(), b.ID); n != 2 || err != nil {
		t.Fatalf("retried %d pieces, %v, want 2", n, err)
	}
	first, second := Claim(t, s, PiecesOf(b, "a", clock.now())), Claim(t, s, PiecesOf(b, "a", clock.now()))
	ClaimNone(t, s, PiecesOf(b, "a", clock.now()))
	if got := QueuedIDs(t, s, first); !slices.Equal(got, []string{"i0000000007"}) ||
		second.Key != "k00001" || second.Tries != 1 {
		t.Errorf("again: %q of %s, then %s, try %d", got, first.Key, second.Key, second.Tries)
	}
}
