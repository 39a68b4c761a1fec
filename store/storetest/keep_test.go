package storetest

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/store"
)

// Videos fetched 29 days ago go, with their places in charts and their rows of the index; those fetched a
// millisecond later stay.
func testNothingIsKeptBeyondTwentyNineDays(t *testing.T, open Open) {
	s, clock := newStore(t, open)
	Chart(t, s, "US", noon, Page(Titled("old", "wald alt"), Titled("both", "wald beides")))
	Chart(t, s, "US", noon.Add(time.Second), Page(Titled("both", "wald beides")))
	now := noon.Add(ingest.KeepFor + time.Millisecond)
	clock.move(now.Sub(clock.now()))
	placements, videos, err := s.Sweep(t.Context(), now)
	if err != nil || placements != 2 || videos != 1 {
		t.Errorf("swept %d placements and %d videos, %v; want 2 and 1", placements, videos, err)
	}
	if found := fmt.Sprint(Search(t, s, store.SearchQuery{Text: "wald"})); found != "[both]" {
		t.Errorf("found %s, want the later video", found)
	}
	if _, err := s.History(t.Context(), store.HistoryQuery{VideoID: "old"}); !errors.Is(err, store.ErrNoVideo) {
		t.Errorf("the history of the deleted videos: %v, want error %v", err, store.ErrNoVideo)
	}
	if c, err := s.Chart(t.Context(), "US", time.Time{}, false); err != nil || len(c.Items) != 1 {
		t.Errorf("the chart that stays has %d places, %v, want 1", len(c.Items), err)
	}
	if kept, err := s.Kept(t.Context()); err != nil || !kept.Oldest.Equal(noon.Add(time.Second)) ||
		kept.Videos != 1 || kept.Charts != 1 {
		t.Errorf("kept is %+v, %v", kept, err)
	}
}

// Readers see whole pages, and a page whose claim was lost leaves nothing.
func testPagesAreAtomic(t *testing.T, open Open) {
	s, _ := newStore(t, open)
	AddDue(t, s, Due("US", noon))
	slot := Claim(t, s, By("test", noon))
	var writers sync.WaitGroup
	writers.Go(func() {
		for i := range 6 {
			var videos []ingest.Video
			for v := range 40 {
				videos = append(videos, Titled(fmt.Sprintf("v%d-%d", i, v), "page"))
			}
			slot.Pages = i + 1
			var err error
			if slot, err = s.SavePage(t.Context(), slot, Page(videos...)); err != nil {
				t.Error(err)
			}
		}
	})
	done := make(chan struct{})
	go func() { writers.Wait(); close(done) }()
	for running := true; running; {
		select {
		case <-done:
			running = false
		default:
		}
		c, err := s.Chart(t.Context(), "US", time.Time{}, true)
		if err != nil && !errors.Is(err, store.ErrNoChart) || len(c.Items)%40 != 0 {
			t.Fatalf("a reader sees %d videos, %v", len(c.Items), err)
		}
	}
	lost := slot
	lost.Attempt++
	lost.Pages++
	if _, err := s.SavePage(t.Context(), lost, Page(Titled("lost", "page"))); !errors.Is(err, ingest.ErrFenced) {
		t.Errorf("a page of a lost claim: %v, want error %v", err, ingest.ErrFenced)
	}
	if _, err := s.History(t.Context(), store.HistoryQuery{VideoID: "lost"}); !errors.Is(err, store.ErrNoVideo) {
		t.Errorf("a page of a lost claim left a video: %v, want error %v", err, store.ErrNoVideo)
	}
}

// Any title is stored, and others' titles are kept to the byte. Invalid UTF-8 is never kept.
func testHostileTextHurtsNoPage(t *testing.T, open Open) {
	s, _ := newStore(t, open)
	videos := []ingest.Video{
		Titled("quote", `it's "quoted" \ 'twice'; DROP TABLE videos; --`), Titled("nul", "a\x00b"),
		Titled("marks", "?1 $1 :a @b %s {}"),
		Titled("invalid", "caf\xe9"), Titled("plain", "ordinary"), Titled("id\x00nul", "odd id"), Titled("id\xff", "odd id"),
	}
	videos[0].Tags = []string{"a\x00b", `"[]`, "\xff"}
	for i := range 2 { // the second time they are known
		Chart(t, s, "US", noon.Add(time.Duration(i)*time.Hour), Page(videos...))
	}
	c, err := s.Chart(t.Context(), "US", time.Time{}, false)
	if err != nil || len(c.Items) != len(videos) {
		t.Fatalf("the chart has %d of %d videos: %v", len(c.Items), len(videos), err)
	}
	for i, at := range []int{0, 2, 4} {
		if got := c.Items[at].Video.Title; got != videos[at].Title {
			t.Errorf("%d: the title is %q, want %q", i, got, videos[at].Title)
		}
	}
	at := noon.Add(3 * time.Hour)
	AddDue(t, s, Due("DE", at))
	Finish(t, s, Claim(t, s, By("test", at)), ingest.Failed, "HTTP 500: caf\xe9")
	slots, err := s.ListSlots(t.Context(), store.SlotFilter{Key: "DE"})
	if err != nil || len(slots) != 1 {
		t.Fatal(slots, err)
	}
	for _, kept := range append(c.Items, ingest.Placement{Video: ingest.Video{Title: slots[0].Reason}}) {
		for _, text := range append(kept.Video.Tags, kept.Video.ID, kept.Video.Title, kept.Video.ChannelID) {
			if !utf8.ValidString(text) {
				t.Errorf("invalid UTF-8 was kept: %q", text)
			}
		}
	}
}
