package store_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/store"
)

// A fetch counts too.
func TestWhatWasFetchedLongestAgoIsCountedFirst(t *testing.T) {
	s, _ := newStore(t)
	for i, id := range []string{"a", "b", "c", "d"} {
		chart(t, s, "US", noon.Add(time.Duration(i)*time.Hour), page(titled(id, id)))
	}
	addDue(t, s, ingest.Slot{SlotKey: ingest.SlotKey{Job: "refresh", DueAt: noon}, Kind: ingest.KindRefresh, State: ingest.Due})
	slot := claim(t, s, by("a", noon))
	slot.Pages, slot.FetchedAt = 1, noon.Add(90*time.Minute)
	if _, err := s.SaveCounts(t.Context(), slot, []string{"a"}, []ingest.Counts{{ID: "a"}}); err != nil {
		t.Fatal(err)
	}
	got, err := s.VideosToCount(t.Context(), noon.Add(3*time.Hour), 2)
	if want := []string{"a", "b"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v; want %q", got, err, want)
	}
	if got, err := s.VideosToCount(t.Context(), noon.Add(3*time.Hour), 9); err != nil || !slices.Equal(got, []string{"a", "b", "c"}) {
		t.Errorf("all are %q, %v", got, err)
	}
}

// It is asked at every heartbeat while the pool for counts is empty, however many videos there are.
func TestToFindWhatToCountSortsNothing(t *testing.T) {
	s, _ := newStore(t)
	got := queryPlan(t, s, store.Uncounted, noon.UnixMilli(), noon.Unix()/86400, 5000)
	if strings.Contains(got, "TEMP B-TREE") || !strings.Contains(got, "SEARCH video_facts USING INDEX videos_fetched") {
		t.Errorf("the plan is\n%s", got)
	}
}
