package storetest

import (
	"strings"
	"testing"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/store"
)

func described(v ingest.Video, text string) ingest.Video {
	v.Description = text
	return v
}

func testADescriptionIsFoundShownAndDeletedWithItsVideo(t *testing.T, open Open) {
	s, clock := newStore(t, open)
	fetch := func(after time.Duration, videos ...ingest.Video) {
		t.Helper()
		clock.t = noon.Add(after)
		Chart(t, s, "US", clock.t, Page(videos...))
	}
	found := func(query, want string) {
		t.Helper()
		if got := strings.Join(Search(t, s, store.SearchQuery{Text: query}), " "); got != want {
			t.Errorf("%s finds %q, want %q", query, got, want)
		}
	}
	shown := func(want string) {
		t.Helper()
		if h, err := s.History(t.Context(), store.HistoryQuery{VideoID: "a"}); err != nil || h.Video.Description != want {
			t.Errorf("the description is %q, %v; want %q", h.Video.Description, err, want)
		}
	}
	a, b := Titled("a", "Wald"), Titled("b", "Bosch")
	a.Tags, b.Views = []string{"forest"}, Count(1)
	const text = "Line one: <b>Mühle</b>\n\x00https://shop.example/\xff Recipe"
	fetch(0, described(a, text), b)
	shown("Line one: <b>Mühle</b>\nhttps://shop.example/\uFFFD Recipe")
	found("muhle", "a")
	found("description:recipe", "a")
	found(`description:"line one" wald`, "a")
	found("tag:recipe", "")
	found("tag:forest", "a")
	found("description:forest", "")
	found("channel:recipe", "")
	found(`"forest line"`, "") // no phrase crosses fields

	b.Channel, b.Views = "Anderer Kanal", Count(2)
	fetch(time.Hour, b) // the channel's new name rewrites the index rows of all its videos
	found("anderer recipe", "a")

	fetch(2*time.Hour, described(a, "Rezept"))
	shown("Rezept")
	found("recipe", "")
	found("rezept", "a")

	fetch(3*time.Hour, a) // descriptions: off
	shown("")
	found("rezept", "")

	fetch(4*time.Hour, described(a, "Rezept"))
	clock.t = noon.Add(4*time.Hour + ingest.KeepFor + time.Second)
	if _, videos, err := s.Sweep(t.Context(), clock.t); err != nil || videos != 2 {
		t.Fatalf("the sweep deleted %d videos, %v; want 2", videos, err)
	}
	found("rezept", "")
}
