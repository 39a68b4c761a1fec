package store_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/store"
)

func TestOlderBringsEveryVideoThatIsOldOnce(t *testing.T) {
	s, clock := newStore(t)
	var all []ingest.Video
	for i := range 150 {
		all = append(all, titled(fmt.Sprint("v", i), "a title"))
	}
	old := clock.now()
	chart(t, s, "US", old, page(all[:120]...))
	young := clock.move(48 * time.Hour)
	chart(t, s, "US", young, page(all[100:]...)) // some of the old ones again
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

// A backfill fetches hundreds of thousands in a day: each step continues where the one before ended.
func TestAStepOfOlderContinuesWithinTheDay(t *testing.T) {
	s, _ := newStore(t)
	got := queryPlan(t, s, store.OlderVideos, noon.Unix()/86400, 5, noon.Unix()/86400, noon.UnixMilli(), 50)
	if strings.Contains(got, "SCAN video") || !strings.Contains(got, "videos_fetched (fetched_day=? AND rowid>?)") ||
		!strings.Contains(got, "videos_fetched (fetched_day>? AND fetched_day<?)") {
		t.Errorf("the plan is\n%s", got)
	}
}
