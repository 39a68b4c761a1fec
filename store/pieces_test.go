package store_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/store"
)

func TestAnIDThatVanishedIsNotedAndItsVideoInDoubt(t *testing.T) {
	s, clock := newStore(t)
	chart(t, s, "US", noon.Add(-time.Hour), page(titled("a", "Alpha"), titled("b", "Beta")))
	b := addBackfill(t, s, ingest.Backfill{Kind: ingest.BackfillRefresh, Created: noon}, of(ingest.Piece{Key: "1", IDs: []string{"a", "b", "c"}}))
	slot := claim(t, s, piecesOf(b, "a", clock.now()))
	saveFound(t, s, slot, []string{"a", "b", "c"}, "b", "c")
	db := raw(t, s.Path())
	if got := scalar[string](t, db, `SELECT group_concat(video_id || ' ' || seen_at) FROM videos`); got != fmt.Sprintf("a %d,b %[1]d", noon.Add(-time.Hour).UnixMilli()) {
		t.Errorf("kept %s: a refresh adds no video, and has seen none", got)
	}
	if ids, err := s.VideosInDoubt(t.Context(), clock.now(), 9); err != nil || len(ids) != 1 || ids[0] != "a" {
		t.Errorf("in doubt are %q, %v, want 1 and \"a\"", ids, err)
	}
	if st := status(t, s, b.ID); st.Vanished != 1 {
		t.Errorf("%d vanished, want 1", st.Vanished)
	}
}

func TestABackfillIsDeletedAMonthAfterItsEnd(t *testing.T) {
	s, clock := newStore(t)
	done, open := addBackfill(t, s, plan("x"), numbered(6)), hunt(t, s)
	for range 6 {
		slot := claim(t, s, piecesOf(done, "a", noon))
		ids := queuedIDs(t, s, slot)
		slot.State, slot.FetchedAt = ingest.Done, noon.Add(time.Hour)
		saveFound(t, s, slot, ids, ids[1:]...)
	}
	found := claim(t, s, piecesOf(open, "a", noon))
	found.Token, found.FetchedAt = "3", noon
	finish(t, s, enqueue(t, s, found, "x"), ingest.Stopped, "units are spent")
	sweep := func() {
		t.Helper()
		if _, _, err := s.Sweep(t.Context(), clock.now()); err != nil {
			t.Fatal(err)
		}
	}
	clock.move(ingest.KeepFor)
	sweep()
	if st := status(t, s, done.ID); st.Pieces[ingest.Done] != 6 {
		t.Errorf("to the day there are %+v, want 6", st.Pieces)
	}
	clock.move(2 * time.Hour)
	sweep()
	if _, err := s.FindBackfill(t.Context(), done.ID); !errors.Is(err, store.ErrNoBackfill) {
		t.Errorf("after a month: %v, want error %v", err, store.ErrNoBackfill)
	}
	db := raw(t, s.Path())
	if n := scalar[int](t, db, `SELECT (SELECT count(*) FROM vanished) + (SELECT count(*) FROM pieces) + (SELECT count(*) FROM slots)`); n != 4 {
		t.Errorf("%d rows are left, want the open backfill's 2 slots and 2 pieces", n)
	}
	again := claim(t, s, piecesOf(open, "a", clock.now()))
	if again.Token != "" || again.Pages != 0 || len(queuedIDs(t, s, again)) != 0 {
		t.Errorf("ids that were found a month ago are kept: %+v, want none", again)
	}
}
