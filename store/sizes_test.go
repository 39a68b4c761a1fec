package store_test

import (
	"errors"
	"fmt"
	"maps"
	"testing"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/store"
)

func TestSizesAreKeptBesideAPiecesRequest(t *testing.T) {
	s, _ := newStore(t)
	var pieces []ingest.Piece
	for _, c := range []string{"@one", "@two", "@three"} {
		pieces = append(pieces, ingest.Piece{Key: c, Spec: ingest.PieceSpec{Channel: c}})
	}
	b := addBackfill(t, s, ingest.Backfill{Kind: ingest.BackfillUploads, Created: noon}, of(pieces...))
	other := addBackfill(t, s, plan("x"), of(ingest.Piece{Key: "@one", IDs: []string{"a"}}))
	want := func(sizes map[string]int) {
		t.Helper()
		if got, err := s.OpenSizes(t.Context(), b.ID); err != nil || !maps.Equal(got, sizes) {
			t.Errorf("known are %v, %v, want %v", got, err, sizes)
		}
	}
	want(map[string]int{})
	for _, sizes := range []map[string]int{nil, {"@one": 7, "@two": -1}, {"@two": 0, "@nobody": 3}} {
		if err := s.NoteSizes(t.Context(), b.ID, sizes); err != nil {
			t.Fatal(err)
		}
	}
	want(map[string]int{"@one": 7, "@two": 0})
	slot := claim(t, s, piecesOf(b, "a", noon))
	if piece, err := s.Piece(t.Context(), slot.SlotKey); err != nil || fmt.Sprint(piece) != fmt.Sprint(pieces[0]) {
		t.Errorf("it asks for %+v, %v", piece, err)
	}
	finish(t, s, slot, ingest.Done, "")
	want(map[string]int{"@two": 0})
	if sizes, err := s.OpenSizes(t.Context(), other.ID); err != nil || len(sizes) > 0 {
		t.Errorf("of another backfill %v are known, %v, want none", sizes, err)
	}
	if err := s.NoteSizes(t.Context(), "bf-9", map[string]int{"a": 1}); !errors.Is(err, store.ErrNoBackfill) {
		t.Errorf("of none: %v, want error %v", err, store.ErrNoBackfill)
	}
	if found, err := s.CheckOpen(t.Context()); err != nil || len(found) > 0 {
		t.Errorf("doctor finds %q, %v, want none", found, err)
	}
}
