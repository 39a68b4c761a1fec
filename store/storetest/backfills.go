package storetest

import (
	"fmt"
	"iter"
	"testing"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/store"
)

// Plan returns a backfill of kind videos, as a person makes one at noon.
func Plan(name string) ingest.Backfill {
	return ingest.Backfill{Kind: ingest.BackfillVideos, Spec: ingest.BackfillSpec{IDs: name},
		Table: "classic", Created: noon}
}

// Numbered yields n pieces of 50 ids each: "k00007" has "i0000350" to "i0000399".
func Numbered(n int) iter.Seq2[ingest.Piece, error] {
	return func(yield func(ingest.Piece, error) bool) {
		for i := range n {
			p := ingest.Piece{Key: fmt.Sprintf("k%05d", i)}
			for j := range 50 {
				p.IDs = append(p.IDs, fmt.Sprintf("i%010d", i*50+j))
			}
			if !yield(p, nil) {
				return
			}
		}
	}
}

// Of yields these pieces.
func Of(pieces ...ingest.Piece) iter.Seq2[ingest.Piece, error] {
	return func(yield func(ingest.Piece, error) bool) {
		for _, p := range pieces {
			if !yield(p, nil) {
				return
			}
		}
	}
}

// AddBackfill adds a backfill that is not there yet.
func AddBackfill(t testing.TB, s *store.Store, b ingest.Backfill,
	pieces iter.Seq2[ingest.Piece, error]) ingest.Backfill {
	t.Helper()
	b, added, err := s.AddBackfill(t.Context(), b, pieces)
	if err != nil || !added {
		t.Fatal(added, err)
	}
	return b
}

// PiecesOf returns a claim of pieces of this backfill.
func PiecesOf(b ingest.Backfill, owner string, now time.Time) ingest.Claim {
	c := By(owner, now)
	c.Backfill, c.Reversed = b.ID, b.Reversed()
	return c
}

// Status returns how far a backfill has come.
func Status(t testing.TB, s *store.Store, id string) store.BackfillStatus {
	t.Helper()
	b, err := s.FindBackfill(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// SaveFound saves the answer for the ids asked.
func SaveFound(t testing.TB, s *store.Store, slot ingest.Slot, asked []string, back ...string) ingest.Slot {
	t.Helper()
	var videos []ingest.Video
	for _, id := range back {
		videos = append(videos, Titled(id, "about "+id))
	}
	slot, _, err := s.SaveFound(t.Context(), slot, ingest.Asked{IDs: asked}, Page(videos...))
	if err != nil {
		t.Fatal(err)
	}
	return slot
}

// Enqueue queues ids that a search has found.
func Enqueue(t testing.TB, s *store.Store, slot ingest.Slot, ids ...string) ingest.Slot {
	t.Helper()
	slot.Pages++
	slot, err := s.Enqueue(t.Context(), slot, ids, noon)
	if err != nil {
		t.Fatal(err)
	}
	return slot
}

// Hunt adds a backfill whose two pieces find their ids.
func Hunt(t testing.TB, s *store.Store) ingest.Backfill {
	t.Helper()
	return AddBackfill(t, s, ingest.Backfill{Kind: ingest.BackfillSearch, Created: noon},
		Of(ingest.Slice(noon.Add(-2*time.Hour), noon.Add(-time.Hour)), ingest.Slice(noon.Add(-time.Hour), noon)))
}

// QueuedIDs returns the ids that wait to be looked up.
func QueuedIDs(t testing.TB, s *store.Store, slot ingest.Slot) []string {
	t.Helper()
	ids, err := s.Queued(t.Context(), slot.SlotKey, 100, noon)
	if err != nil {
		t.Fatal(err)
	}
	return ids
}
