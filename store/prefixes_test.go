package store_test

import (
	"fmt"
	"testing"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/store"
)

// beginners are videos whose titles, channels and tags hold words that begin alike.
func beginners() []ingest.Video {
	var videos []ingest.Video
	for i := range 40 {
		v := titled(fmt.Sprintf("v%02d", i), fmt.Sprintf("the word%02d stands", i))
		if i%2 == 0 {
			v.Title = fmt.Sprintf("the other%02d stands", i)
			v.Tags = []string{"x", fmt.Sprintf("tagged word%02d", i)}
		}
		if i%10 == 0 {
			v.Tags, v.Channel, v.ChannelID = nil, fmt.Sprintf("Wordy%02d", i), fmt.Sprintf("UC%02d", i)
		}
		videos = append(videos, v)
	}
	return videos
}

func TestAPrefixFindsAllItsWords(t *testing.T) {
	s, _ := newStore(t)
	chart(t, s, "US", noon, page(beginners()...))
	for text, want := range map[string]int{
		"w*": 40, "wo*": 40, "wor*": 40, "word*": 40, "word0*": 9, "wordy*": 4, `"the wor"*`: 20, `"tagged wo"*`: 16,
		"tag:wo*": 16, "channel:wo*": 4, "the -wordy*": 36, "the -tag:wo*": 24, "wo* -word0*": 31, "wo* oth*": 20, "ta* wo*": 16,
		"th* st* wo* oth* tagg* othe*": 16, "-worx* wordy*": 4,
		"word": 40, "tag:wo": 16, "stands other0": 5, "the w": 40, // the last word, as it is typed
	} {
		for _, region := range []ingest.Region{"", "US"} {
			r, err := s.Search(t.Context(), store.Query{Text: text, Limit: 100, Region: region})
			if err != nil || len(r.Items) != want || r.Capped {
				t.Errorf("%s: %d found, capped %v, %v, want %d", text, len(r.Items), r.Capped, err, want)
			}
		}
	}
}
