package storetest

import (
	"fmt"
	"testing"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/store"
)

// If more than 20,000 videos match, the search considers the newest and says so, even if few have the word in a name.
func testACappedResultSaysSo(t *testing.T, open Open) {
	Alone(t)
	const looked, named = 20_000, 400
	s, _ := newStore(t, open)
	var pages []ingest.Page
	for i := range looked + 1 {
		v := Titled(fmt.Sprint("v", i), "")
		if i < named {
			v.Title = fmt.Sprintf("busy quiet halfone halftwo %d", i)
		}
		v.Tags = []string{"busy", []string{"halfone", "halftwo"}[i%2]}
		if i < looked {
			v.Tags = append(v.Tags, "quiet")
		}
		if i%4000 == 0 {
			pages = append(pages, ingest.Page{})
		}
		p := &pages[len(pages)-1]
		p.Videos = append(p.Videos, v)
	}
	Chart(t, s, "US", noon, pages...)
	for text, capped := range map[string]bool{"busy": true, "quiet": false, "half*": true,
		"halfone": false, "busy quiet": false, "busy half*": true, "tag:busy": true, "channel:busy": false} {
		if r, err := s.Search(t.Context(), store.SearchQuery{Text: text}); err != nil || r.Capped != capped {
			t.Errorf("%s: capped %v, %v, want %v", text, r.Capped, err, capped)
		}
	}
}
