package store_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/trendvidstream/ingest/store"
	"github.com/trendvidstream/ingest/store/storetest"
)

// Whatever is typed is answered, and soon: the bound, in processor time, is far above what any of these takes.
func TestHostileQueriesAreAnsweredSoon(t *testing.T) {
	soon := 5 * time.Second
	if raced {
		soon *= 10
	}
	s, _ := newStore(t)
	chart(t, s, "US", noon, page(storetest.Beginners()...))
	for _, text := range storetest.HostileQueries() {
		all := []store.SearchQuery{{Text: "the " + text, Order: store.ByRise}, {Text: text}, {Text: text, Region: "US", MinViews: 1}}
		if raced {
			all = all[:1] // the detector slows SQLite tenfold
		}
		for _, q := range all {
			name := fmt.Sprintf("%.40q (%d bytes)", q.Text, len(q.Text))
			began := cpuTime(t)
			r, err := s.Search(t.Context(), q)
			if err != nil {
				t.Errorf("%s: %.200s", name, err)
			}
			if took := cpuTime(t) - began; took > soon {
				t.Errorf("%s: answered after %v", name, took)
			}
			if (r.Looked == "") != (r.Hint != "") {
				t.Errorf("%s: looked for %.80q, hint %q", name, r.Looked, r.Hint)
			}
		}
	}
}
