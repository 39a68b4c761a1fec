package store_test

import (
	"fmt"
	"testing"

	"github.com/trendvidstream/ingest"
)

// BenchmarkNoteCharge measures the store's time for one call of a backfill: to note the charge before the call is sent,
// and to save its answer of 50 new videos.
func BenchmarkNoteCharge(b *testing.B) {
	s := open(b, b.TempDir(), &handClock{t: noon})
	plan, _, err := s.AddBackfill(b.Context(), ingest.Backfill{Kind: ingest.BackfillVideos, Created: noon}, func(yield func(ingest.Piece, error) bool) {
		for n := range 2000 {
			if !yield(ingest.IDPiece(n, []string{"a"}), nil) {
				return
			}
		}
	})
	if err != nil {
		b.Fatal(err)
	}
	if err := s.Confirm(b.Context(), plan.ID, map[string]int64{"units": 1 << 40}); err != nil {
		b.Fatal(err)
	}
	slot, ok, err := s.Claim(b.Context(), ingest.Claim{Owner: "a", Now: noon, Lease: 1 << 60, Backfill: plan.ID})
	if err != nil || !ok {
		b.Fatal(ok, err)
	}
	b.Run("note", func(b *testing.B) {
		for b.Loop() {
			slot.Charge(map[string]int64{"units": 1}, false)
			if agreed, err := s.NoteCharge(b.Context(), slot); err != nil || !agreed {
				b.Fatal(agreed, err)
			}
		}
	})
	n := 0
	b.Run("answer", func(b *testing.B) {
		for b.Loop() {
			var ids []string
			var page ingest.Page
			for range 50 {
				n++
				id := fmt.Sprintf("v%010d", n)
				ids = append(ids, id)
				page.Videos = append(page.Videos, ingest.Video{ID: id, Title: "a video called " + id, Channel: "All", ChannelID: "UCall", Tags: []string{"some", "tags"}})
			}
			if slot, _, err = s.SaveFound(b.Context(), slot, ingest.Asked{IDs: ids}, page); err != nil {
				b.Fatal(err)
			}
		}
	})
}
