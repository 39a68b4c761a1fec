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

// planned returns a store with a search in two pieces, one stopped with an id that waits and one due; ids in two
// pieces, one done with an id that vanished and one claimed by a run that died; and a scheduled search.
func planned(t *testing.T, dir string) (path string) {
	t.Helper()
	s, err := store.Open(t.Context(), dir, store.Options{Upstream: upstream, Now: func() time.Time { return noon }})
	if err != nil {
		t.Fatal(err)
	}
	search := hunt(t, s)
	slot := enqueue(t, s, claim(t, s, piecesOf(search, "a", noon)), "x")
	slot.Units = 100
	finish(t, s, slot, ingest.Stopped, "no quota")
	ids := addBackfill(t, s, plan("x"), numbered(2))
	slot = saveFound(t, s, claim(t, s, piecesOf(ids, "a", noon)), []string{"i0000000000", "i0000000001"}, "i0000000001")
	finish(t, s, slot, ingest.Done, "")
	claim(t, s, piecesOf(ids, "a", noon))
	addDue(t, s, ingest.Slot{SlotKey: ingest.SlotKey{Job: "cats", Key: "DE", DueAt: noon}, Kind: ingest.KindSearch, State: ingest.Due})
	finish(t, s, enqueue(t, s, claim(t, s, by("a", noon)), "y"), ingest.Stopped, "no quota")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return s.Path()
}

// pieceStates returns the states of a backfill's pieces, in words.
func pieceStates(b store.BackfillStatus) string {
	var all []string
	for _, state := range []ingest.State{ingest.Due, ingest.Claimed, ingest.Stopped, ingest.Done, ingest.Failed, ingest.Skipped} {
		if n := b.Pieces[state]; n > 0 {
			all = append(all, fmt.Sprint(n, " ", state))
		}
	}
	return strings.Join(all, ", ")
}

func TestRepairLeavesNoUnworkablePiece(t *testing.T) {
	alone(t)
	base := t.TempDir()
	planned(t, base)
	const first = `(SELECT slots.id FROM slots JOIN series ON series.id = series WHERE backfill IS NOT NULL ORDER BY state = 'stopped' DESC LIMIT 1)`
	for _, tt := range []struct{ sql, says, search, ids string }{
		{`DELETE FROM slots`, "1 id that vanished belongs to no slot; 4 pieces have lost their slot", "2 failed", "2 failed"},
		{`DELETE FROM pieces`, "3 pieces have lost their requests; 1 search has lost its results", "2 failed", "1 done, 1 failed"},
		{`UPDATE pieces SET waiting = '["x' WHERE slot = ` + first, "1 piece has a request that cannot be read", "1 due, 1 failed", "1 claimed, 1 done"},
		{`UPDATE pieces SET waiting = '[]' WHERE backfill = 2`, "1 piece has a request that cannot be read", "1 due, 1 stopped", "1 done, 1 failed"},
		{`DELETE FROM series WHERE backfill IS NOT NULL`, "4 slots belong to no series", "gone", "gone"},
		{`DELETE FROM series WHERE id = (SELECT series FROM slots WHERE id = ` + first + `)`, "1 slot belongs to no series", "1 due", "1 claimed, 1 done"},
		{`DELETE FROM backfills WHERE id = 1`, "2 pieces belong to a missing backfill", "2 failed", "1 claimed, 1 done"},
		{`UPDATE series SET open = NULL`, "3 series have another slot to claim than they say", "1 due, 1 stopped", "1 claimed, 1 done"},
	} {
		t.Run(tt.sql, func(t *testing.T) {
			dir := t.TempDir()
			db := raw(t, copyStore(t, base, dir))
			units := scalar[int](t, db, `SELECT sum(units) FROM slots`)
			if _, err := db.ExecContext(t.Context(), tt.sql); err != nil {
				t.Fatal(err)
			}
			s := open(t, dir, &handClock{t: noon})
			if found, err := s.CheckOpen(t.Context()); err != nil || !strings.Contains(strings.Join(found, "; "), tt.says) {
				t.Errorf("check says %q (%v), want %q in it", found, err, tt.says)
			}
			if r := repair(t, dir); r.Broken != "" || len(r.Done) == 0 {
				t.Errorf("repaired %+v", r)
			}
			if bad := scalar[int](t, db, `SELECT count(*) FROM pragma_foreign_key_check`); bad > 0 {
				t.Errorf("%d rows refer to nothing, want none", bad)
			}
			if strings.Contains(tt.sql, "backfills") && scalar[int](t, db, `SELECT sum(units) FROM slots`) != units {
				t.Error("the slots' units after the repair: got another sum, want the one before")
			}
			for id, want := range map[string]string{"bf-1": tt.search, "bf-2": tt.ids} {
				got := "gone"
				if b, err := s.FindBackfill(t.Context(), id); err == nil {
					got = pieceStates(b)
				}
				if got != want {
					t.Errorf("%s has %s, want %s", id, got, want)
				}
				worked(t, s, id)
			}
			fresh := addBackfill(t, s, plan("anew"), numbered(30)) // ids of slots are given again
			if fresh.ID != "bf-3" || pieceStates(status(t, s, fresh.ID)) != "30 due" {
				t.Errorf("the next plan is %+v, want \"bf-3\" and \"30 due\"", status(t, s, fresh.ID))
			}
			sound(t, s)
		})
	}
}

// worked claims all that can be claimed of a backfill, also after a retry: each piece asks for something.
func worked(t *testing.T, s *store.Store, id string) {
	t.Helper()
	later := noon.Add(time.Hour)
	for range 2 {
		for {
			slot, ok, err := s.Claim(t.Context(), piecesOf(ingest.Backfill{ID: id}, "b", later))
			if err != nil {
				t.Fatal(err)
			}
			if !ok {
				break
			}
			piece, err := s.Piece(t.Context(), slot.SlotKey)
			if ids := queuedIDs(t, s, slot); err != nil || len(ids) == 0 && piece.Spec == (ingest.PieceSpec{}) {
				t.Errorf("%s %s asks for nothing: %+v, %v", id, slot.Key, piece, err)
			}
			finish(t, s, slot, ingest.Done, "")
		}
		if _, err := s.RetryBackfill(t.Context(), id); err != nil && !errors.Is(err, store.ErrNoBackfill) {
			t.Error(err)
		}
	}
	if b, err := s.FindBackfill(t.Context(), id); err == nil && b.Open() > 0 {
		t.Errorf("%s stays open: %s", id, pieceStates(b))
	}
}

// Also before a repair: the rest of such a piece must not pass for a done one.
func TestAPieceWithoutItsRequestIsAnError(t *testing.T) {
	s, _ := newStore(t)
	b := addBackfill(t, s, plan("x"), numbered(1))
	slot := claim(t, s, piecesOf(b, "a", noon))
	if _, err := raw(t, s.Path()).ExecContext(t.Context(), `DELETE FROM pieces`); err != nil {
		t.Fatal(err)
	}
	_, err := s.Piece(t.Context(), slot.SlotKey)
	_, parkedErr := s.Queued(t.Context(), slot.SlotKey, 50, noon)
	for _, err := range []error{err, parkedErr} {
		if err == nil || !strings.Contains(err.Error(), "ingest doctor --repair") {
			t.Errorf("it is %v", err)
		}
	}
}

// An unreadable page of pieces, or of backfills, costs no more of the store.
func TestRepairMovesTheReadableRowsOfBackfills(t *testing.T) {
	alone(t)
	for _, table := range []string{"pieces", "slots", "series", "backfills", "vanished"} {
		t.Run(table, func(t *testing.T) {
			dir := t.TempDir()
			path := planned(t, dir)
			db := raw(t, path)
			number := scalar[int](t, db, `SELECT pageno FROM dbstat WHERE name = ? AND pagetype = 'leaf' LIMIT 1`, table)
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
			spoil(t, path, number-1, func(b []byte) { clear(b) })
			if r := repair(t, dir); r.Broken == "" || !strings.Contains(strings.Join(r.Lost, "; "), table) {
				t.Errorf("repaired %+v", r)
			}
			s := open(t, dir, &handClock{t: noon})
			if bad := scalar[int](t, raw(t, path), `SELECT count(*) FROM pragma_foreign_key_check`); bad > 0 {
				t.Errorf("%d rows refer to nothing, want none", bad)
			}
			for _, id := range []string{"bf-1", "bf-2"} {
				worked(t, s, id)
			}
			addBackfill(t, s, plan("anew"), numbered(30))
			sound(t, s)
		})
	}
}

// The last chart of a region is fetched again at once; an older one is given up.
func TestAChartThatWasLostIsFetchedAgainAtOnce(t *testing.T) {
	for _, table := range []string{"placements", "a video"} {
		t.Run(table, func(t *testing.T) {
			dir := t.TempDir()
			path := library(t, dir, 40)
			db := raw(t, path)
			if table == "a video" {
				if _, err := db.ExecContext(t.Context(), `DELETE FROM video_facts`); err != nil {
					t.Fatal(err)
				}
			}
			number := scalar[int](t, db, `SELECT rootpage FROM sqlite_schema WHERE name = 'placements'`)
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
			if table != "a video" {
				spoil(t, path, number-1, func(b []byte) { clear(b) })
			}
			repair(t, dir)
			s := open(t, dir, &handClock{t: noon})
			db = raw(t, path)
			if n := scalar[int](t, db, `SELECT count(*) FROM slots WHERE state = 'done'`); n > 0 {
				t.Errorf("%d charts are done that are lost, want none", n)
			}
			var got []string
			for range 2 {
				slot := claim(t, s, by("a", noon.Add(4*time.Hour)))
				got = append(got, fmt.Sprint(slot.Key, " ", slot.DueAt.Format("15:04")))
				if slot.Pages != 0 || slot.Token != "" {
					t.Errorf("%s goes on at page %d, want 0 and \"\"", slot.Key, slot.Pages)
				}
			}
			slices.Sort(got)
			if want := []string{"IN 14:00", "US 15:00"}; !slices.Equal(got, want) { // the slot of 15:00 was due before
				t.Errorf("next are %q, want %q", got, want)
			}
			claimNone(t, s, by("a", noon.Add(4*time.Hour)))
		})
	}
}
