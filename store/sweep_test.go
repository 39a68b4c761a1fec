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

const day = 24 * time.Hour

func refreshSlot(t *testing.T, s *store.Store, at time.Time) ingest.Slot {
	t.Helper()
	slot := ingest.Slot{SlotKey: ingest.SlotKey{Job: "refresh", DueAt: at}, Kind: ingest.KindRefresh, State: ingest.Due}
	addDue(t, s, slot)
	c := by("test", at)
	c.Series = map[ingest.Series]bool{{Job: "refresh"}: true}
	return claim(t, s, c)
}

func stale(t *testing.T, s *store.Store, now time.Time, n int) []string {
	t.Helper()
	ids, err := s.VideosToRefresh(t.Context(), now, n)
	if err != nil {
		t.Fatal(err)
	}
	return ids
}

func TestStaleIsWhatWasChartedLatelyAndFetchedLongAgo(t *testing.T) {
	s, _ := newStore(t)
	chart(t, s, "US", noon, page(titled("b", "B"), titled("a", "A")))
	chart(t, s, "US", noon.Add(day), page(titled("c", "C")))
	chart(t, s, "US", noon.Add(10*day), page(titled("d", "D")))
	tests := []struct {
		after time.Duration
		n     int
		want  []string
	}{
		{ingest.RefreshAfter, 9, nil},
		{ingest.RefreshAfter + time.Second, 9, []string{"b", "a"}},
		{27 * day, 9, []string{"b", "a", "c"}},
		{27 * day, 2, []string{"b", "a"}},
		{ingest.KeepFor + time.Second, 9, []string{"c"}}, // the others are for Sweep
	}
	for _, tt := range tests {
		if got := stale(t, s, noon.Add(tt.after), tt.n); !slices.Equal(got, tt.want) {
			t.Errorf("after %v: %v, want %v", tt.after, got, tt.want)
		}
	}
}

func TestSaveVideosRenewsWhatCameBackAndDeletesTheRest(t *testing.T) {
	s, _ := newStore(t)
	chart(t, s, "US", noon, page(titled("a", "Alt"), titled("gone", "Verschwunden"), titled("c", "Chor")))
	now := noon.Add(26 * day)
	slot := refreshSlot(t, s, now)
	slot.Pages, slot.Units, slot.FetchedAt = 1, 1, now
	slot, err := s.SaveVideos(t.Context(), slot, []string{"a", "gone", "unknown", "swept"},
		page(titled("a", "Neu"), titled("unasked", "Ungefragt"), titled("swept", "Inzwischen weg")))
	if err != nil {
		t.Fatal(err)
	}
	if slot.Videos != 2 {
		t.Errorf("%d videos counted", slot.Videos)
	}
	if got, want := ranks(t, s, "US"), "1 a, 3 c"; got != want {
		t.Errorf("the chart is %q, want %q", got, want)
	}
	for text, want := range map[string]int{"neu": 1, "alt": 0, "verschwunden": 0, "ungefragt": 0, "inzwischen": 0, "chor": 1} {
		if got := search(t, s, store.Query{Text: text}); len(got) != want {
			t.Errorf("%s finds %v, want %d", text, got, want)
		}
	}
	if got := stale(t, s, now, 9); !slices.Equal(got, []string{"c"}) {
		t.Errorf("still stale: %v", got)
	}
	slot.Pages, slot.State = 2, ingest.Done
	if slot, err = s.SaveVideos(t.Context(), slot, []string{"c"}, page(titled("c", "Chor"))); err != nil || slot.Videos != 3 {
		t.Errorf("page 2: %d videos, %v", slot.Videos, err)
	}
	listed, err := s.ListSlots(t.Context(), store.SlotFilter{Job: "refresh"})
	if err != nil || len(listed) != 1 || listed[0].State != ingest.Done || listed[0].Videos != 3 || listed[0].Units != 1 {
		t.Errorf("listed %+v, %v", listed, err)
	}
}

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
	if _, err := s.SaveVideos(t.Context(), slot, []string{"refreshed"}, page(refreshed)); err != nil {
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
	got := search(t, s, store.Query{Text: "alte ware"})
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

func TestRowsOfSlotsGoWithWhatTheyBrought(t *testing.T) {
	s, clock := newStore(t)
	var slots []ingest.Slot
	for i := range 2500 { // more than one transaction deletes
		slot := due("US", noon.Add(time.Duration(i)*time.Second))
		slot.State, slot.Reason = ingest.Missed, fmt.Sprint("nothing ran, ", i%2) // else they would be one
		slots = append(slots, slot)
	}
	addDue(t, s, slots...)
	chart(t, s, "GB", noon, page(titled("a", "A"))) // done, and the newest
	addDue(t, s, due("DE", noon))                   // waits
	addDue(t, s, due("FR", noon))
	only := by("a", noon)
	only.Series = map[ingest.Series]bool{{Job: "chart", Key: "FR"}: true}
	claim(t, s, only) // runs, and its series has gone on
	addDue(t, s, due("FR", noon.Add(40*day)))
	addDue(t, s, due("IN", noon))
	only.Series = map[ingest.Series]bool{{Job: "chart", Key: "IN"}: true}
	finish(t, s, claim(t, s, only), ingest.Failed, "broken")
	addDue(t, s, due("IN", noon.Add(20*day))) // what is behind it may go

	for range 2 {
		if _, _, err := s.Sweep(t.Context(), clock.now().Add(ingest.KeepFor+time.Hour)); err != nil {
			t.Fatal(err)
		}
		wantStates(t, s, "FR 12:00 due", "IN 12:00 due", "US 12:41 missed", "DE 12:00 due", "FR 12:00 claimed", "GB 12:00 done")
	}
	newest, err := s.Newest(t.Context(), time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC))
	if us := (ingest.Series{Job: "chart", Key: "US"}); err != nil || !newest[us].Equal(slots[2499].DueAt) {
		t.Errorf("newest of US %v, %v: the schedule would go back", newest[us], err)
	}
}

// A video whose counts are lost waits for a repair: what it belongs to must stay, and the sweep goes on.
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

func TestCopiesOfTheStoreGoWithWhatTheyHold(t *testing.T) {
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
