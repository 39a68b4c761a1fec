package store_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/store"
)

// shuffled is a store of charts over 60 days: views from none to billions, which rise, fall and are withheld, by charts
// and by counts alone, and categories that change.
func shuffled(t *testing.T, rng *rand.Rand) *store.Store {
	t.Helper()
	s, clock := newStore(t)
	views := func() *int64 {
		if rng.IntN(20) == 0 {
			return nil
		}
		return count(int64(math.Exp(rng.NormFloat64()*4 + 9)))
	}
	for range 60 {
		var videos []ingest.Video
		for _, n := range rng.Perm(600)[:20] {
			v := titled(fmt.Sprintf("v%03d", n), []string{"some word", "word", "other word here"}[n%3])
			v.Views, v.Category = views(), fmt.Sprint(rng.IntN(30))
			videos = append(videos, v)
		}
		chart(t, s, []string{"US", "GB", "DE"}[rng.IntN(3)], clock.move(day), page(videos...))
	}
	slot := refreshSlot(t, s, clock.move(time.Minute))
	slot.Pages, slot.FetchedAt = 1, clock.now()
	var asked []string
	var counts []ingest.Counts
	for _, n := range rng.Perm(700)[:50] {
		asked = append(asked, fmt.Sprintf("v%03d", n))
		counts = append(counts, ingest.Counts{ID: asked[len(asked)-1], Views: views()})
	}
	if _, err := s.SaveCounts(t.Context(), slot, asked, counts); err != nil {
		t.Fatal(err)
	}
	return s
}

// found is a search's output, with its scores.
func found(t *testing.T, s *store.Store, q store.SearchQuery) (shown []string) {
	t.Helper()
	r, err := s.Search(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range r.Items {
		shown = append(shown, fmt.Sprintf("%s %.6f", h.Video.ID, h.Score))
	}
	return append(shown, r.Interpreted, r.Next)
}

// A search that reads the most watched of its matches first answers as one that reads them all.
func TestWordsThatASearchDoesNotReadChangeNothing(t *testing.T) {
	seed := rand.Uint64()
	rng := rand.New(rand.NewPCG(seed, 0))
	store.SetMaxScored(t, 40)
	for range 2 {
		s := shuffled(t, rng)
		if wrong, err := s.CheckOpen(t.Context()); err != nil || len(wrong) > 0 {
			t.Fatalf("seed %d: check says %q, %v, want none", seed, wrong, err)
		}
		for range 60 {
			q := store.SearchQuery{
				Text:  []string{"word", "some word", "wo*", "other"}[rng.IntN(4)],
				Order: []store.Order{store.ByRelevance, store.ByRelevance, store.ByViews, store.ByFreshness, store.ByRise}[rng.IntN(5)],
				Limit: 1 + rng.IntN(30),
			}
			if rng.IntN(3) == 0 {
				q.Region = []ingest.Region{"US", "GB", "DE"}[rng.IntN(3)]
			}
			if rng.IntN(4) == 0 {
				q.Category = fmt.Sprint(rng.IntN(30))
			}
			if rng.IntN(4) == 0 {
				q.MinViews = int64(math.Exp(rng.Float64() * 20))
			}
			if rng.IntN(5) == 0 {
				q.SeenSince = noon.Add(time.Duration(rng.IntN(60)) * day)
			}
			store.SetFewRead(t, 1<<40)
			want := found(t, s, q)
			store.SetFewRead(t, 0)
			if got := found(t, s, q); !slices.Equal(got, want) {
				t.Errorf("seed %d, %+v: found\n%q, of all\n%q", seed, q, got, want)
			}
		}
	}
}

// A video with the word in its tags alone is left out of a first page only where it would not be on it: a page of any
// length begins as the longest one does, which reads them all.
func TestAVideoWithAWordInItsTagsAloneIsOnItsPage(t *testing.T) {
	seed := rand.Uint64()
	rng := rand.New(rand.NewPCG(seed, 0))
	for round := range 8 {
		s, _ := newStore(t)
		inNames, spread := 20+rng.IntN(200), 1+3*rng.Float64() // of how many, and how unlike their views are
		var videos []ingest.Video
		for n := range 500 {
			v := titled(fmt.Sprintf("v%03d", n), fmt.Sprintf("%s title of number %d", []string{"word", "wordy", "word again"}[n%3], n%400))
			v.Views = count(int64(math.Exp(rng.NormFloat64()*spread + 6)))
			if n >= inNames {
				v.Title, v.Tags = fmt.Sprintf("title of number %d", n%450), []string{"word"}
				v.Views = count(int64(math.Exp(rng.NormFloat64()*spread + 6 + float64(2*round))))
			}
			videos = append(videos, v)
		}
		chart(t, s, "US", noon, page(videos...))
		for _, text := range []string{"word", "wo*"} {
			for _, region := range []ingest.Region{"", "US"} {
				q := store.SearchQuery{Text: text, Region: region, Limit: 500}
				all := found(t, s, q)
				for _, q.Limit = range []int{1, 5, 20, 1 + rng.IntN(inNames)} {
					got := found(t, s, q)[:q.Limit]
					if !slices.Equal(got, all[:q.Limit]) {
						t.Errorf("seed %d, round %d, %+v: found\n%q, which begins\n%q", seed, round, q, got, all[:q.Limit])
					}
				}
			}
		}
	}
}
