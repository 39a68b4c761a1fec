package store_test

import (
	"strings"
	"testing"

	"github.com/trendvidstream/ingest/store"
)

// The query runs at every heartbeat while the pool for counts is empty, however many videos there are.
func TestFindingVideosToCountNeedsNoSort(t *testing.T) {
	s, _ := newStore(t)
	got := queryPlan(t, s, store.Uncounted, noon.UnixMilli(), noon.Unix()/86400, 5000)
	if strings.Contains(got, "TEMP B-TREE") || !strings.Contains(got, "SEARCH video_facts USING INDEX videos_fetched") {
		t.Errorf("the plan is\n%s", got)
	}
}
