package store_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

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

// Where a beginning goes on in more words than are looked up, the same is found as where it does not.
func TestAPrefixFindsAllItsWordsHoweverManyThereAre(t *testing.T) {
	queries := map[string]int{
		"wo*": 40, "word*": 40, "word0*": 9, "wordy*": 4, "word07*": 1, "worx*": 0, `"the wor"*`: 20, `"stands wor"*`: 0, `"tagged wo"*`: 16,
		"tag:wo*": 16, "channel:wo*": 4, "the -wor*": 0, "the -wordy*": 36, "the -tag:wo*": 24, "wo* -word0*": 31, "wo* oth*": 20, "ta* wo*": 16,
		"th* st* wo* oth* tagg* othe*": 16,
	}
	s, _ := newStore(t)
	chart(t, s, "US", noon, page(beginners()...))
	lookedUp := []int{1000, 30, 3, 1, 0}
	if raced {
		lookedUp = []int{1000, 3}
	}
	for _, words := range lookedUp {
		store.SetMaxWords(t, words)
		for text, want := range queries {
			for _, region := range []ingest.Region{"", "US"} {
				r, err := s.Search(t.Context(), store.Query{Text: text, Limit: 100, Region: region})
				if err != nil || len(r.Items) != want {
					t.Errorf("%d words looked up, %s: %d found, %v, want %d", words, text, len(r.Items), err, want)
				}
				if words == 1000 && r.Capped {
					t.Errorf("%s says that there is more", text)
				}
			}
		}
		r, err := s.Search(t.Context(), store.Query{Text: "wo*"})
		if err != nil || r.Capped != (words < 40) {
			t.Errorf("%d words looked up: capped %v, %v", words, r.Capped, err)
		}
	}
}

func TestALargeStoreIsSearchedInRangesOfIDs(t *testing.T) {
	s, clock := newStore(t)
	videos := mixed(60)
	chart(t, s, "US", noon, page(videos...))
	chart(t, s, "GB", clock.move(minutes(1)), page(titled("z", "else")))
	queries := []store.Query{{Text: "common"}, {Text: "common word"}, {Text: "com*"}, {Text: "common", Region: "US"}, {Text: "common -word"}, {Text: "common", MinViews: 3}, {Text: "word*", Order: store.ByViews}}
	var want [][]string
	for _, q := range queries {
		q.Limit = 100
		want = append(want, search(t, s, q))
	}
	store.SetIDRange(t, 7, time.Hour)
	for i, q := range queries {
		q.Limit = 100
		if got := search(t, s, q); !slices.Equal(got, want[i]) {
			t.Errorf("in reaches of seven, %+v finds %v, want %v", q, got, want[i])
		}
	}
	store.SetIDRange(t, 7, -1)
	r, err := s.Search(t.Context(), store.Query{Text: "common", Limit: 100})
	if err != nil || !r.Capped || len(r.Items) != 6 { // the seventh is z
		t.Errorf("without patience: %d found, capped %v, %v; want the six newest, capped", len(r.Items), r.Capped, err)
	}
}
