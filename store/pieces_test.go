package store_test

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

// look saves what came back for the ids asked.
func look(t testing.TB, s *store.Store, slot ingest.Slot, asked []string, back ...string) ingest.Slot {
	t.Helper()
	var videos []ingest.Video
	for _, id := range back {
		videos = append(videos, titled(id, "about "+id))
	}
	slot, err := s.SaveFound(t.Context(), slot, asked, page(videos...))
	if err != nil {
		t.Fatal(err)
	}
	return slot
}

func park(t testing.TB, s *store.Store, slot ingest.Slot, ids ...string) ingest.Slot {
	t.Helper()
	slot.Pages++
	slot, err := s.Enqueue(t.Context(), slot, ids, noon)
	if err != nil {
		t.Fatal(err)
	}
	return slot
}

// hunt is a backfill whose two pieces find their ids.
func hunt(t testing.TB, s *store.Store) ingest.Backfill {
	t.Helper()
	return addBackfill(t, s, ingest.Backfill{Kind: ingest.BackfillSearch, Created: noon},
		of(ingest.Slice(noon.Add(-2*time.Hour), noon.Add(-time.Hour)), ingest.Slice(noon.Add(-time.Hour), noon)))
}

func TestAnIDIsLookedUpOnceHoweverOftenItIsFound(t *testing.T) {
	s, clock := newStore(t)
	b := hunt(t, s)
	clock.move(time.Minute)
	one, two := claim(t, s, piecesOf(b, "a", noon)), claim(t, s, piecesOf(b, "a", noon))
	one = park(t, s, one, "x", "y", "x", "", strings.Repeat("z", 101), "gone")
	if got := parked(t, s, one); !slices.Equal(got, []string{"x", "y", "gone"}) {
		t.Fatalf("%q wait", got)
	}
	two = park(t, s, two, "y", "w") // y waits in the other piece
	if got := parked(t, s, two); !slices.Equal(got, []string{"w"}) {
		t.Errorf("in the second piece %q wait", got)
	}
	one = look(t, s, one, []string{"x", "y", "gone"}, "y", "x", "nobody asked")
	two = park(t, s, two, "x", "gone") // x is kept and gone is known to be gone
	if got := parked(t, s, two); !slices.Equal(got, []string{"w"}) || one.Videos != 2 {
		t.Errorf("after the first was saved %q wait, %d videos", got, one.Videos)
	}
	for _, slot := range []ingest.Slot{one, look(t, s, two, []string{"w"}, "w")} {
		finish(t, s, slot, ingest.Done, "")
	}
	st := status(t, s, b.ID)
	if st.Videos != 3 || st.Vanished != 1 || st.Waiting != 0 || st.Known != 4 || st.Open() != 0 || st.Pieces[ingest.Done] != 2 {
		t.Errorf("%+v", st)
	}
	if got := search(t, s, store.Query{Text: "about"}); len(got) != 3 {
		t.Errorf("found %q", got)
	}
}

func TestWhatWasFetchedSinceIsNotLookedUp(t *testing.T) {
	s, clock := newStore(t)
	b := addBackfill(t, s, plan("x"), of(ingest.Piece{Key: "1", IDs: []string{"old", "young", "old", "new"}}))
	chart(t, s, "US", noon.Add(-time.Hour), page(titled("old", "Old")))
	chart(t, s, "GB", noon, page(titled("young", "Young")))
	slot := claim(t, s, piecesOf(b, "a", clock.now()))
	if got := parked(t, s, slot); !slices.Equal(got, []string{"old", "new"}) {
		t.Fatalf("%q wait", got)
	}
	slot.State = ingest.Done
	slot = look(t, s, slot, []string{"old", "new"}, "old", "new")
	if st := status(t, s, b.ID); st.Videos != 2 || st.Known != 1 || st.Waiting != 0 || st.Pieces[ingest.Done] != 1 {
		t.Errorf("%+v", st)
	}
	claimNone(t, s, piecesOf(b, "a", clock.now()))
	if err := s.Finish(t.Context(), slot); !errors.Is(err, ingest.ErrFenced) {
		t.Errorf("a piece that is done is finished again: %v", err)
	}
}

func TestAnIDThatVanishedIsDeletedAndNoted(t *testing.T) {
	s, clock := newStore(t)
	chart(t, s, "US", noon.Add(-time.Hour), page(titled("a", "Alpha"), titled("b", "Beta")))
	b := addBackfill(t, s, ingest.Backfill{Kind: ingest.BackfillRefresh, Created: noon}, of(ingest.Piece{Key: "1", IDs: []string{"a", "b", "c"}}))
	slot := claim(t, s, piecesOf(b, "a", clock.now()))
	look(t, s, slot, []string{"a", "b", "c"}, "b", "c")
	db := raw(t, s.Path())
	if got := scalar[string](t, db, `SELECT group_concat(video_id || ' ' || seen_at) FROM videos`); got != fmt.Sprint("b ", noon.Add(-time.Hour).UnixMilli()) {
		t.Errorf("kept %s: a refresh adds no video, and has seen none", got)
	}
	if st := status(t, s, b.ID); st.Vanished != 1 {
		t.Errorf("%d vanished", st.Vanished)
	}
}

func TestHalvesAreAddedWithThePageThatWasTooMany(t *testing.T) {
	s, _ := newStore(t)
	b := hunt(t, s)
	slot := claim(t, s, piecesOf(b, "a", noon))
	halves := []ingest.Piece{ingest.Slice(noon.Add(-time.Hour), noon.Add(-30*time.Minute)), ingest.Slice(noon.Add(-30*time.Minute), noon)}
	for range 2 { // again after a restart
		slot.Pages++
		var err error
		if slot, err = s.Enqueue(t.Context(), slot, []string{"x"}, noon, halves...); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	for range 3 {
		got = append(got, claim(t, s, piecesOf(b, "a", noon)).Key)
	}
	if want := []string{halves[1].Key, halves[0].Key, "2026-02-14T10:00:00Z/2026-02-14T11:00:00Z"}; !slices.Equal(got, want) {
		t.Errorf("next come %q, want %q", got, want)
	}
}

func TestAnotherRunsPieceIsFenced(t *testing.T) {
	s, clock := newStore(t)
	b := hunt(t, s)
	old := claim(t, s, piecesOf(b, "a", noon))
	taken := claim(t, s, piecesOf(b, "b", clock.move(6*time.Minute)))
	if taken.Key != old.Key || taken.Tries != 2 {
		t.Fatalf("took over %s, try %d", taken.Key, taken.Tries)
	}
	_, park := s.Enqueue(t.Context(), old, []string{"x"}, noon)
	_, save := s.SaveFound(t.Context(), old, []string{"x"}, page(titled("x", "X")))
	_, restart := s.Restart(t.Context(), old, 1)
	_, giveUp := s.GiveUp(t.Context(), old, "x", "")
	for _, err := range []error{park, save, restart, giveUp} {
		if !errors.Is(err, ingest.ErrFenced) {
			t.Errorf("a late write is %v", err)
		}
	}
	if st := status(t, s, b.ID); st.Videos+st.Vanished+st.Waiting+st.Again+st.GivenUp > 0 {
		t.Errorf("late writes left %+v", st)
	}
}

func TestACancelledBackfillEndsWithThePageInFlight(t *testing.T) {
	s, clock := newStore(t)
	b := addBackfill(t, s, plan("x"), numbered(4))
	running, other := claim(t, s, piecesOf(b, "a", noon)), claim(t, s, piecesOf(b, "a", noon))
	lapsed := piecesOf(b, "b", noon)
	lapsed.Lease = time.Second
	dead := claim(t, s, lapsed)
	if did, err := s.CancelBackfill(t.Context(), b.ID, clock.move(time.Minute)); !did || err != nil {
		t.Fatal(did, err)
	}
	claimNone(t, s, piecesOf(b, "c", clock.move(time.Hour)))
	ids := parked(t, s, running)
	if got := look(t, s, running, ids, ids...); got.State != ingest.Skipped || got.Videos != 50 {
		t.Errorf("the page in flight left %+v", got)
	}
	finish(t, s, other, ingest.Stopped, "units are spent")
	if err := s.Finish(t.Context(), dead); !errors.Is(err, ingest.ErrFenced) {
		t.Errorf("the dead one: %v", err)
	}
	st := status(t, s, b.ID)
	if st.Pieces[ingest.Skipped] != 4 || st.Open() != 0 || st.Videos != 50 || !st.Cancelled.Equal(noon.Add(time.Minute)) {
		t.Errorf("%+v", st)
	}
	if did, err := s.CancelBackfill(t.Context(), b.ID, clock.now()); did || err != nil {
		t.Errorf("cancelled twice: %v %v", did, err)
	}
	if n, err := s.RetryBackfill(t.Context(), b.ID); n != 0 || err != nil {
		t.Errorf("retried %d, %v", n, err)
	}
	if _, err := s.FindBackfill(t.Context(), b.Identity()); !errors.Is(err, store.ErrNoBackfill) {
		t.Errorf("its flags find it still: %v", err)
	}
}

func TestWhatFailedIsTriedAgainWhenAPersonSaysSo(t *testing.T) {
	s, clock := newStore(t)
	b := addBackfill(t, s, plan("x"), numbered(3))
	bad := claim(t, s, piecesOf(b, "a", noon))
	bad, err := s.GiveUp(t.Context(), bad, "i0000000007", "refused: no such id")
	if err != nil {
		t.Fatal(err)
	}
	ids := parked(t, s, bad)
	bad.State = ingest.Done
	look(t, s, bad, ids, ids...)
	finish(t, s, claim(t, s, piecesOf(b, "a", noon)), ingest.Failed, "the upstream is broken")
	finish(t, s, claim(t, s, piecesOf(b, "a", noon)), ingest.Done, "")
	failures, err := s.FailedPieces(t.Context(), b.ID, 0)
	if want := "[{k00000 i0000000007 refused: no such id} {k00001  the upstream is broken}]"; err != nil || fmt.Sprint(failures) != want {
		t.Errorf("failed %v, want %v; %v", failures, want, err)
	}
	if st := status(t, s, b.ID); st.GivenUp != 1 || st.Vanished != 0 || st.Pieces[ingest.Failed] != 1 {
		t.Errorf("%+v", st)
	}
	if n, err := s.RetryBackfill(t.Context(), b.ID); n != 2 || err != nil {
		t.Fatalf("retried %d pieces, %v", n, err)
	}
	first, second := claim(t, s, piecesOf(b, "a", clock.now())), claim(t, s, piecesOf(b, "a", clock.now()))
	claimNone(t, s, piecesOf(b, "a", clock.now()))
	if got := parked(t, s, first); !slices.Equal(got, []string{"i0000000007"}) || second.Key != "k00001" || second.Tries != 1 {
		t.Errorf("again: %q of %s, then %s, try %d", got, first.Key, second.Key, second.Tries)
	}
}

func TestABackfillGoesAMonthAfterItsEnd(t *testing.T) {
	s, clock := newStore(t)
	done, open := addBackfill(t, s, plan("x"), numbered(6)), hunt(t, s)
	for range 6 {
		slot := claim(t, s, piecesOf(done, "a", noon))
		ids := parked(t, s, slot)
		slot.State, slot.FetchedAt = ingest.Done, noon.Add(time.Hour)
		look(t, s, slot, ids, ids[1:]...)
	}
	found := claim(t, s, piecesOf(open, "a", noon))
	found.Token, found.FetchedAt = "3", noon
	finish(t, s, park(t, s, found, "x"), ingest.Stopped, "units are spent")
	sweep := func() {
		t.Helper()
		if _, _, err := s.Sweep(t.Context(), clock.now()); err != nil {
			t.Fatal(err)
		}
	}
	clock.move(ingest.KeepFor)
	sweep()
	if st := status(t, s, done.ID); st.Pieces[ingest.Done] != 6 {
		t.Errorf("to the day there are %+v", st.Pieces)
	}
	clock.move(2 * time.Hour)
	sweep()
	if _, err := s.FindBackfill(t.Context(), done.ID); !errors.Is(err, store.ErrNoBackfill) {
		t.Errorf("after a month: %v", err)
	}
	db := raw(t, s.Path())
	if n := scalar[int](t, db, `SELECT (SELECT count(*) FROM vanished) + (SELECT count(*) FROM pieces) + (SELECT count(*) FROM slots)`); n != 4 {
		t.Errorf("%d rows are left, want the open backfill's 2 slots and 2 pieces", n)
	}
	again := claim(t, s, piecesOf(open, "a", clock.now()))
	if again.Token != "" || again.Pages != 0 || len(parked(t, s, again)) != 0 {
		t.Errorf("ids that were found a month ago are kept: %+v", again)
	}
}
