package main_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/store"
)

// charted writes charts of the US straight into the program's store, half an hour apart, up to the
// program's time.
func charted(t *testing.T, slots ...[]ingest.Video) {
	t.Helper()
	now := at(t, "2026-02-14T12:00:00Z")
	dir := filepath.Join(t.TempDir(), "data")
	t.Setenv("INGEST_DATA", dir)
	s, err := store.Open(t.Context(), dir, store.Options{Upstream: "localhost", Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	for i, videos := range slots {
		due := now.Add(time.Duration(i-len(slots)+1) * 30 * time.Minute)
		key := ingest.SlotKey{Job: "chart", Key: "US", DueAt: due}
		if err := s.AddDue(t.Context(), []ingest.Slot{{SlotKey: key, Kind: ingest.KindChart, State: ingest.Due}}); err != nil {
			t.Fatal(err)
		}
		slot, ok, err := s.Claim(t.Context(), ingest.Claim{Owner: "test", Now: due, Lease: time.Minute})
		if err != nil || !ok {
			t.Fatalf("claim: %v, %v", ok, err)
		}
		slot.State, slot.Pages, slot.FetchedAt = ingest.Done, 1, due
		if _, err := s.SavePage(t.Context(), slot, ingest.Page{Videos: videos}); err != nil {
			t.Fatal(err)
		}
	}
}

func named(id, title string, views int64) ingest.Video {
	return ingest.Video{
		ID: id, Title: title, Channel: "Kanal", ChannelID: "UCkanal", Category: "10", Views: &views,
		PublishedAt: time.Date(2026, 2, 14, 8, 0, 0, 0, time.UTC),
	}
}

func TestSearchIsReadPageByPage(t *testing.T) {
	var videos []ingest.Video
	for i := range 25 {
		videos = append(videos, named(fmt.Sprintf("video-%05d", i), "A trailer", int64(i)))
	}
	charted(t, videos)
	args := []string{"search", "trailer", "--order", "views", "--limit", "10", "--seen-since", "2m"}
	var got []string
	for page := 0; page < 3; page++ {
		// "Two minutes ago" is counted from the first page, however long reading takes.
		t.Setenv("INGEST_NOW", fmt.Sprintf("2026-02-14T12:0%d:00Z", 1+3*page))
		doc := ingestJSON[searchDocument](t, exitOK, args...)
		for _, i := range doc.Items {
			got = append(got, i.VideoID)
		}
		if doc.Next == nil {
			break
		}
		args = append(args[:8:8], "--after", *doc.Next)
	}
	for i, id := range got {
		if want := videos[24-i].ID; id != want {
			t.Fatalf("place %d is %s, want %s: %v", i, id, want, got)
		}
	}
	if len(got) != 25 {
		t.Errorf("%d videos on all pages, want 25", len(got))
	}
	_, stderr := ingestCode(t, exitUsage, append([]string{"search", "other"}, args[2:]...)...)
	if !strings.Contains(stderr, "not a cursor of this search") {
		t.Errorf("a cursor of another query: %s, want \"not a cursor of this search\" in it", stderr)
	}
}
