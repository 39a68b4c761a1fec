package store_test

import (
	"strings"
	"testing"
	"time"

	"github.com/trendvidstream/ingest"
)

// The backfill itself is cancelled first: whenever the process dies, no piece is claimed any more, and the next cancel
// ends the rest.
func TestACancelThatDiesHalfwayLeavesNothingToClaim(t *testing.T) {
	s, clock := newStore(t)
	b := addBackfill(t, s, plan("x"), numbered(2500))
	running := claim(t, s, piecesOf(b, "a", noon))
	db := raw(t, s.Path())
	if _, err := db.ExecContext(t.Context(), `
		CREATE TRIGGER dies BEFORE UPDATE ON slots WHEN new.id = 1500 BEGIN SELECT RAISE(ABORT, 'killed'); END`); err != nil {
		t.Fatal(err)
	}
	if _, err := s.CancelBackfill(t.Context(), b.ID, clock.move(time.Minute)); err == nil || !strings.Contains(err.Error(), "killed") {
		t.Fatalf("it was not killed: %v", err)
	}
	if n := scalar[int](t, db, `SELECT count(*) FROM slots WHERE state = 'skipped'`); n < 1000 || n >= 1500 {
		t.Errorf("it died at the 1500th piece, when %d had ended: its steps are too large, want at least 1000 and less than 1500", n)
	}
	claimNone(t, s, piecesOf(b, "b", clock.now()))
	if waiting, err := s.WaitingBackfills(t.Context()); err != nil || len(waiting) != 0 {
		t.Errorf("serve would carry on %v, %v, want none", waiting, err)
	}
	st := status(t, s, b.ID)
	if st.Cancelled.IsZero() || st.Open() != 1 || st.Pieces[ingest.Skipped] != 2499 || st.Pieces[ingest.Claimed] != 1 {
		t.Errorf("halfway: cancelled at %s, %v", st.Cancelled, st.Pieces)
	}
	if found, err := s.CheckOpen(t.Context()); err != nil || len(found) > 0 {
		t.Errorf("doctor finds %q, %v, want none", found, err)
	}
	if _, err := db.ExecContext(t.Context(), `DROP TRIGGER dies`); err != nil {
		t.Fatal(err)
	}
	if did, err := s.CancelBackfill(t.Context(), b.ID, clock.move(time.Minute)); !did || err != nil {
		t.Errorf("again: %v, %v", did, err)
	}
	if n := scalar[int](t, db, `SELECT count(*) FROM series JOIN slots ON series = series.id WHERE open IS NULL AND state = 'skipped' AND reason <> ''`); n != 2499 {
		t.Errorf("%d rows have ended, want 2499", n)
	}
	if st := status(t, s, b.ID); !st.Cancelled.Equal(noon.Add(time.Minute)) {
		t.Errorf("it was cancelled at %s", st.Cancelled)
	}
	ids := queuedIDs(t, s, running)
	if got := saveFound(t, s, running, ids, ids...); got.State != ingest.Skipped {
		t.Errorf("the page in flight left %+v, want %v", got, ingest.Skipped)
	}
	if did, err := s.CancelBackfill(t.Context(), b.ID, clock.now()); did || err != nil {
		t.Errorf("when all has ended: %v, %v", did, err)
	}
}

// The halves of a slice that was too full are not added if its backfill was cancelled meanwhile.
func TestACancelledPieceLeavesNoHalves(t *testing.T) {
	s, _ := newStore(t)
	b := hunt(t, s)
	slot := claim(t, s, piecesOf(b, "a", noon))
	if _, err := s.CancelBackfill(t.Context(), b.ID, noon); err != nil {
		t.Fatal(err)
	}
	slot.Pages++
	halves := []ingest.Piece{ingest.Slice(noon.Add(-time.Hour), noon.Add(-30*time.Minute)), ingest.Slice(noon.Add(-30*time.Minute), noon)}
	slot, err := s.Enqueue(t.Context(), slot, []string{"x"}, noon, halves...)
	if err != nil || slot.State != ingest.Skipped {
		t.Fatal(slot.State, err)
	}
	if n := scalar[int](t, raw(t, s.Path()), `SELECT count(*) FROM series`); n != 2 {
		t.Errorf("there are %d pieces, want the 2 that it was cancelled with", n)
	}
}
