package store_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/store"
)

func TestTidyGivesPagesBackThatAreLongEmpty(t *testing.T) {
	dir := t.TempDir()
	path := library(t, dir, 600)
	s := open(t, dir, &handClock{t: noon})
	if mode := scalar[int](t, raw(t, path), `PRAGMA auto_vacuum`); mode != 2 {
		t.Errorf("auto_vacuum %d: a new store cannot give pages back", mode)
	}
	before := scalar[int](t, raw(t, path), `PRAGMA page_count`)
	if _, _, err := s.Sweep(t.Context(), noon.Add(60*day)); err != nil {
		t.Fatal(err)
	}
	if err := s.Tidy(t.Context()); err != nil {
		t.Fatal(err)
	}
	db := raw(t, path)
	all, free := scalar[int](t, db, `PRAGMA page_count`), scalar[int](t, db, `PRAGMA freelist_count`)
	if all > before/2 || free > all/3 {
		t.Errorf("%d of %d pages are left, %d of them empty", all, before, free)
	}
	sound(t, s)
}

// A search looks for each of its words in each segment of the index.
func TestTidyMergesTheIndexIntoOneSegment(t *testing.T) {
	s := open(t, t.TempDir(), &handClock{t: noon})
	for i := range 63 {
		now := noon.Add(time.Duration(i) * time.Hour)
		chart(t, s, "US", now, page(titled(fmt.Sprint("v", i), fmt.Sprintf("Lied Nummer %d", i))))
	}
	const segments = `SELECT count(DISTINCT segid) FROM video_text_idx`
	for i := range 3 { // the later times beside a large segment
		chart(t, s, "US", noon.Add(time.Duration(100+i)*time.Hour), page(titled(fmt.Sprint("w", i), "Lion")))
		before := scalar[int](t, raw(t, s.Path()), segments)
		if err := s.Tidy(t.Context()); err != nil {
			t.Fatal(err)
		}
		if after := scalar[int](t, raw(t, s.Path()), segments); after != 1 {
			t.Errorf("Tidy left %d of %d segments, want 1", after, before)
		}
	}
	sound(t, s)
}

// Each day adds videos, and a refresh deletes videos older than 30 days: after the first months the file stops
// growing.
func TestAQuarterOfDaysStaysBounded(t *testing.T) { daysStayBounded(t, 90, 3) }

func TestLongYearOfDaysStaysBounded(t *testing.T) { daysStayBounded(t, 365, 8) }

func daysStayBounded(t *testing.T, days, perDay int) {
	t.Helper()
	clock := &handClock{t: noon}
	s := open(t, t.TempDir(), clock)
	var early, late int64
	for d := range days {
		var videos []ingest.Video
		for i := range perDay {
			videos = append(videos, titled(fmt.Sprintf("d%d-%d", d, i), fmt.Sprintf("Tag %d Nummer %d Lied %d", d, i, d*i)))
		}
		now := clock.move(24 * time.Hour)
		chart(t, s, "US", now, page(videos...))
		if _, _, err := s.Sweep(t.Context(), now); err != nil {
			t.Fatal(err)
		}
		if err := s.Tidy(t.Context()); err != nil {
			t.Fatal(err)
		}
		switch size := fileSize(t, s); {
		case d < days/3:
			early = max(early, size)
		case d >= days/2:
			late = max(late, size)
		}
	}
	t.Logf("%d days of %d videos: %d KiB at most in the first third, %d KiB in the second half", days, perDay, early>>10, late>>10)
	if late > early*3/2 {
		t.Errorf("the file went from %d to %d bytes", early, late)
	}
}

func fileSize(t testing.TB, s *store.Store) int64 {
	t.Helper()
	db := raw(t, s.Path())
	defer func() { _ = db.Close() }()
	return scalar[int64](t, db, `PRAGMA page_count`) * 4096
}
