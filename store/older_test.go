package store_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/trendvidstream/ingest"
)

func TestOlderBringsEveryVideoThatIsOldOnce(t *testing.T) {
	s := open(t)
	old, young := time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC), time.Date(2026, 2, 3, 0, 0, 0, 0, time.UTC)
	page := func(at time.Time, from, to int) {
		slot := claimed(t, s, "US", at)
		slot.Pages, slot.FetchedAt, slot.State = 1, at, ingest.Done
		var videos []ingest.Video
		for i := from; i < to; i++ {
			videos = append(videos, ingest.Video{ID: fmt.Sprint("v", i)})
		}
		if _, err := s.SavePage(t.Context(), slot, ingest.Page{Videos: videos}); err != nil {
			t.Fatal(err)
		}
	}
	page(old, 0, 120)
	page(young, 100, 150) // some of the old ones again
	seen := map[string]bool{}
	for ids, err := range s.Older(t.Context(), young, 7) {
		if err != nil || len(ids) > 7 {
			t.Fatal(len(ids), err)
		}
		for _, id := range ids {
			if seen[id] {
				t.Errorf("%s came twice", id)
			}
			seen[id] = true
		}
	}
	for i := range 150 {
		if id := fmt.Sprint("v", i); seen[id] != (i < 100) {
			t.Errorf("%s is listed: %v", id, seen[id])
		}
	}
}
