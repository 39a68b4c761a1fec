package store_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/store"
)

// invented returns n videos with titles of six words; "common" is in every twentieth.
func invented(n int) []ingest.Video {
	rng := rand.New(rand.NewPCG(1, 2))
	videos := make([]ingest.Video, n)
	for i := range videos {
		v := titled(fmt.Sprintf("v%07d", i), "")
		for range 6 {
			v.Title += fmt.Sprintf("word%d ", int(20_000*rng.Float64()*rng.Float64()))
		}
		if i%20 == 0 {
			v.Title += "common"
		}
		v.ChannelID = fmt.Sprint("UC", rng.IntN(2000))
		v.Channel = v.ChannelID
		v.Tags = []string{"some", "tags", fmt.Sprint("tag", rng.IntN(500))}
		videos[i] = v
	}
	return videos
}

// stocked returns a store with n videos, charted 200 at a time in eight regions.
func stocked(b *testing.B, n int) (*store.Store, time.Time) {
	b.Helper()
	s, _ := newStore(b)
	videos, at := invented(n), noon
	for i := 0; len(videos) > 0; i++ {
		size := min(200, len(videos))
		at = at.Add(time.Second)
		chart(b, s, realRegions[i%8], at, page(videos[:size]...))
		videos = videos[size:]
	}
	return s, at
}

func BenchmarkSearch(b *testing.B) {
	s, _ := stocked(b, 20_000)
	for _, text := range []string{"common", "common some", "word12*", "word17"} {
		for _, region := range []ingest.Region{"", "DE"} {
			b.Run(fmt.Sprint(text, "/", region), func(b *testing.B) {
				for b.Loop() {
					if _, err := s.Search(b.Context(), store.SearchQuery{Text: text, Region: region}); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// One operation is a pass: 8 regions of 4 pages of 50 videos.
func BenchmarkPass(b *testing.B) {
	videos := invented(1600)
	pass := func(s *store.Store, at time.Time) {
		for r, region := range realRegions {
			var pages []ingest.Page
			for p := range 4 {
				pages = append(pages, page(videos[r*200+p*50:][:50]...))
			}
			chart(b, s, region, at, pages...)
		}
	}
	b.Run("first", func(b *testing.B) {
		for b.Loop() {
			b.StopTimer()
			s, _ := newStore(b)
			b.StartTimer()
			pass(s, noon)
		}
	})
	b.Run("again", func(b *testing.B) {
		s, clock := newStore(b)
		pass(s, noon)
		for b.Loop() {
			pass(s, clock.move(time.Minute))
		}
	})
}
