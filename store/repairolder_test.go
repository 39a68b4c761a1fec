package store_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Version 1 had one table for all facts about a video.
func TestRepairMovesTheVideosOfAnOlderStore(t *testing.T) {
	columns := strings.Fields("video_id title tags views likes comments fetched_at seen_at duration_s thumbnail")
	dir := old(t, "v1.sql")
	path := filepath.Join(dir, "ingest.db")
	db := raw(t, path)
	want := dump(t, db, "videos", columns)
	page := scalar[int](t, db, `SELECT rootpage FROM sqlite_schema WHERE name = 'videos_channel'`)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	spoil(t, path, page-1, func(b []byte) { clear(b) })
	if r := repair(t, dir); r.Broken == "" || len(r.Lost) > 0 {
		t.Fatalf("repaired: %+v", r)
	}
	if got := dump(t, raw(t, path), "videos", columns); !slices.Equal(got, want) {
		t.Errorf("the videos are\n%q\nwant\n%q", got, want)
	}
	sound(t, open(t, dir, &handClock{t: noon}))
}
