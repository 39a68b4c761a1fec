package store_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/store"
)

// Results may be older than counted ones: no count of the chosen filters is below the number of videos shown.
func TestCountsIncludeEveryShownResult(t *testing.T) {
	store.SetMaxTallied(t, 4)
	s, _ := newStore(t)
	old := titled("old", "trailer")
	old.Category = "27"
	chart(t, s, "US", noon, page(old))
	var newer []ingest.Video
	for i := range 5 {
		newer = append(newer, titled(fmt.Sprint("new", i), "trailer"))
	}
	chart(t, s, "DE", noon, page(newer...))
	r, err := s.Search(t.Context(), store.SearchQuery{Text: "trailer", Region: "US", Category: "27", Tally: true})
	if err != nil || len(r.Items) != 1 {
		t.Fatal(r.Items, err)
	}
	c := r.Counts
	for _, n := range []int{c.Matches, c.Regions[""], c.Regions["US"], c.Categories["27"], c.Published[0], c.Views[0], c.Lengths[ingest.Length{}]} {
		if n != 1 || !c.AtLeast {
			t.Errorf("one video is shown, the counts are %+v", *c)
		}
	}
	if c.Categories[""] != 1 || c.Regions["DE"] != 0 {
		t.Errorf("the counts are %+v, want 1 in all and none of DE", *c)
	}
}

// The query runs at every heartbeat while the pool for counts is empty, however many videos there are.
func TestFindingVideosToCountNeedsNoSort(t *testing.T) {
	s, _ := newStore(t)
	got := queryPlan(t, s, store.Uncounted, noon.UnixMilli(), noon.Unix()/86400, 5000)
	if strings.Contains(got, "TEMP B-TREE") || !strings.Contains(got, "SEARCH video_facts USING INDEX videos_fetched") {
		t.Errorf("the plan is\n%s", got)
	}
}
