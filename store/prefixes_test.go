package store_test

import (
	"testing"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/store"
	"github.com/trendvidstream/ingest/store/storetest"
)

func TestAPrefixFindsAllItsWords(t *testing.T) {
	s, _ := newStore(t)
	chart(t, s, "US", noon, page(storetest.Beginners()...))
	for text, want := range map[string]int{
		"w*": 40, "wo*": 40, "wor*": 40, "word*": 40, "word0*": 9, "wordy*": 4, `"the wor"*`: 20, `"tagged wo"*`: 16,
		"tag:wo*": 16, "channel:wo*": 4, "the -wordy*": 36, "the -tag:wo*": 24, "wo* -word0*": 31, "wo* oth*": 20, "ta* wo*": 16,
		"th* st* wo* oth* tagg* othe*": 16, "-worx* wordy*": 4,
		"word": 40, "tag:wo": 16, "stands other0": 5, "the w": 40, // the last word, as it is typed
	} {
		for _, region := range []ingest.Region{"", "US"} {
			r, err := s.Search(t.Context(), store.SearchQuery{Text: text, Limit: 100, Region: region})
			if err != nil || len(r.Items) != want || r.Capped {
				t.Errorf("%s: %d found, capped %v, %v, want %d", text, len(r.Items), r.Capped, err, want)
			}
		}
	}
}
