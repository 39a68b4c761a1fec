package store_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/store"
)

func TestNothingOfTheUpstreamIsKeptBeyondThirtyDays(t *testing.T) {
	s, clock := newStore(t)
	for h := range 15 { // more charts and videos than one transaction deletes
		var videos []ingest.Video
		for i := range 20 {
			v := titled(fmt.Sprintf("v%02d-%02d", h, i), "Alte Ware")
			v.ChannelID = fmt.Sprint("UC", h)
			videos = append(videos, v)
		}
		chart(t, s, "US", noon.Add(time.Duration(h)*time.Minute), page(videos...))
	}
	kept := titled("kept", "Alte Ware")
	chart(t, s, "DE", noon, page(kept))
	chart(t, s, "DE", noon.Add(20*day), page(kept))
	refreshed := titled("refreshed", "Alte Ware")
	chart(t, s, "GB", noon, page(refreshed))
	slot := refreshSlot(t, s, noon.Add(26*day))
	slot.FetchedAt, slot.State = noon.Add(26*day), ingest.Done
	if _, _, err := s.SaveVideos(t.Context(), slot, ingest.Asked{IDs: []string{"refreshed"}}, page(refreshed)); err != nil {
		t.Fatal(err)
	}

	for _, tt := range []struct {
		now                time.Time
		placements, videos int
	}{
		{noon.Add(ingest.KeepFor), 0, 0},
		{clock.move(31 * day), 15*20 + 2, 15 * 20},
		{clock.now(), 0, 0},
	} {
		placements, videos, err := s.Sweep(t.Context(), tt.now)
		if err != nil || placements != tt.placements || videos != tt.videos {
			t.Errorf("at %v: swept %d placements and %d videos (%v), want %d and %d", tt.now, placements, videos, err, tt.placements, tt.videos)
		}
	}
	got := search(t, s, store.SearchQuery{Text: "alte ware"})
	slices.Sort(got)
	if !slices.Equal(got, []string{"kept", "refreshed"}) {
		t.Errorf("still found: %v", got)
	}
	db := raw(t, s.Path())
	for query, want := range map[string]int{
		`SELECT count(*) FROM placements`:         1,
		`SELECT count(*) FROM videos`:             2,
		`SELECT count(*) FROM video_text_docsize`: 2,
		`SELECT count(*) FROM channels`:           1,
	} {
		if n := scalar[int](t, db, query); n != want {
			t.Errorf("%s: %d, want %d", query, n, want)
		}
	}
	if got := scalar[string](t, db, `PRAGMA integrity_check`); got != "ok" {
		t.Error(got)
	}
}

// A video whose counts are lost waits for a repair: its parent must stay, and the sweep continues.
func TestSweepKeepsTheChannelOfAVideoThatLostItsCounts(t *testing.T) {
	s, _ := newStore(t)
	chart(t, s, "US", noon, page(titled("a", "A")))
	db := raw(t, s.Path())
	if _, err := db.ExecContext(t.Context(), `DELETE FROM video_latest`); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.Sweep(t.Context(), noon); err != nil {
		t.Error(err)
	}
	if n := scalar[int](t, db, `SELECT count(*) FROM channels`); n != 1 {
		t.Errorf("%d channels, want the video's", n)
	}
}

func TestCopiesOfTheStoreGoWithTheirContent(t *testing.T) {
	s, _ := newStore(t)
	dir := filepath.Dir(s.Path())
	kept := []string{"ingest.db.v3-backup-20260214T120000.000Z", "ingest.db.broken-20260301T120000.000Z", "ingest.db.mine", "ingest.db.v3-backup-mine",
		"other.broken-20250101T120000.000Z"}
	gone := []string{"ingest.db.v3-backup-20260213T120000.000Z", "ingest.db.v2-backup-20260101T120000.000Z-2", "ingest.db.broken-20260101T120000.000Z",
		"ingest.db.broken-20260101T120000.000Z-wal", "ingest.db-wal.left-20260101T120000.000Z"}
	for _, name := range slices.Concat(kept, gone) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := s.Sweep(t.Context(), noon.Add(ingest.KeepFor)); err != nil {
		t.Fatal(err)
	}
	if got := backupsOf(t, dir); !slices.Equal(got, slices.Sorted(slices.Values(kept))) {
		t.Errorf("there are still %v, want %v", got, kept)
	}
}

func TestDeletedTextLeavesTheFile(t *testing.T) {
	clock := &handClock{t: noon}
	dir := t.TempDir()
	s, err := store.Open(t.Context(), dir, store.Options{Upstream: upstream, Now: clock.now})
	if err != nil {
		t.Fatal(err)
	}
	var videos []ingest.Video
	for i := range 200 {
		videos = append(videos, titled(fmt.Sprintf("v%03d", i), fmt.Sprintf("VERY Secret Title %03d", i)))
	}
	chart(t, s, "US", noon, page(videos...))
	chart(t, s, "DE", noon.Add(20*day), page(titled("kept", "VERY Public Title")))
	if _, _, err := s.Sweep(t.Context(), noon.Add(ingest.KeepFor+time.Hour)); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	bytes, err := os.ReadFile(filepath.Join(dir, "ingest.db"))
	if err != nil || !strings.Contains(string(bytes), "VERY Public Title") || strings.Contains(string(bytes), "VERY Secret Title") {
		t.Errorf("%d times in the file: what was deleted (%v)", strings.Count(string(bytes), "VERY Secret Title"), err)
	}
}

func TestBlocksOfDeletedVideosAreDeleted(t *testing.T) {
	s, clock := newStore(t)
	var old []ingest.Video
	for i := range 2060 { // a row is of 2,048
		old = append(old, titled(fmt.Sprint("v", i), "Alte Ware"))
	}
	chart(t, s, "US", noon, page(old...))
	clock.move(31 * day)
	chart(t, s, "US", clock.now(), page(titled("new", "Neue Ware")))
	if _, _, err := s.Sweep(t.Context(), clock.now()); err != nil {
		t.Fatal(err)
	}
	if got := dump(t, raw(t, s.Path()), "video_blocks", []string{"id % 4294967296"}); !slices.Equal(slices.Compact(got), []string{"1"}) {
		t.Errorf("the rows of blocks %v are left, want 1", got)
	}
	if got := search(t, s, store.SearchQuery{Text: "ware", Region: "US"}); !slices.Equal(got, []string{"new"}) {
		t.Errorf("found %v, want [new]", got)
	}
}
