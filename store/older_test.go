package store_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/trendvidstream/ingest"
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
