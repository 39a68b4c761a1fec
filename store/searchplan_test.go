package store_test

import (
	"strings"
	"testing"

	"github.com/trendvidstream/ingest/store"
)

// Of the matches of a common word seven in eight are in other regions: their videos, which lie all over the
// file, are not read.
func TestTheRegionOfAMatchIsLookedUpBeforeItsVideo(t *testing.T) {
	s, _ := newStore(t)
	plan := queryPlan(t, s, store.CandidatesIn("DE"), `"common"`, 0, 100, 10, 10, false, "DE")
	region, video := strings.Index(plan, "SEARCH placements USING COVERING INDEX placements_video"), strings.Index(plan, "SEARCH video_facts")
	if region < 0 || video < 0 || video < region {
		t.Errorf("the plan is\n%s", plan)
	}
}
