package store_test

import (
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/store"
)

// library returns a closed store with a few charts.
func library(t testing.TB, dir string, videos int) (path string) {
	t.Helper()
	clock := &handClock{t: noon}
	s, err := store.Open(t.Context(), dir, store.Options{Upstream: upstream, Now: clock.now})
	if err != nil {
		t.Fatal(err)
	}
	for h := range 3 {
		for r, region := range []string{"US", "IN"} {
			var list []ingest.Video
			for i := range videos {
				n := i + r*videos/2
				v := titled(fmt.Sprintf("v%04d", n), fmt.Sprintf("Film %04d नमस्ते", n))
				v.ChannelID, v.Channel = fmt.Sprint("UC", n%17), fmt.Sprint("Kanal ", n%17)
				list = append(list, v)
			}
			chart(t, s, region, noon.Add(time.Duration(h)*time.Hour), page(list...))
		}
	}
	addDue(t, s, due("US", noon.Add(3*time.Hour)))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return s.Path()
}

func repair(t testing.TB, dir string) store.Repaired {
	t.Helper()
	r, err := store.Repair(t.Context(), dir, store.Options{Now: func() time.Time { return noon }})
	if err != nil {
		t.Fatalf("repair: %v, after %+v", err, r)
	}
	return r
}

// spoiled are ways for an undamaged file to hold a wrong store, and Check's words about each.
var spoiled = []struct{ sql, says string }{
	{`DELETE FROM video_text WHERE rowid % 3 = 0`, "20 videos are not in the index: no search finds them"},
	{`INSERT INTO video_text (rowid, title) VALUES (999, 'gespenst')`, "1 row of the index belongs to no video"},
	{`DELETE FROM video_facts WHERE id = 7`, "1 row of the index belongs to no video; 3 placements belong to no slot, or to no video; 1 row of counts belongs to no video"},
	{`DELETE FROM video_latest WHERE id IN (7, 8)`, "2 videos have lost their counts: no search finds them"},
	{`DELETE FROM slots WHERE id = 1`, "40 placements belong to no slot, or to no video"},
	{`UPDATE placements SET series = 2 WHERE slot = 1 AND rank < 6`, "5 placements are in another series than their slot; 5 videos are not found in a region that charted them"},
	{`DELETE FROM video_blocks WHERE id >= 4294967296`, "80 videos are not found in a region that charted them"},
	{`UPDATE video_blocks SET bytes = zeroblob(256) WHERE id >> 32 = 1`, "40 videos are not found in a region that charted them"},
	{`UPDATE video_blocks SET bytes = zeroblob(7) WHERE id >> 32 > 0`, "80 videos are not found in a region that charted them"},
	{`DELETE FROM video_blocks WHERE id < 4294967296`, "60 videos are watched more or less than a search assumes, or of another category"},
	{`UPDATE video_latest SET views = 1000 WHERE id = 7`, "1 video is watched more or less than a search assumes, or of another category"},
	{`UPDATE slots SET series = 77 WHERE due_at = (SELECT max(due_at) FROM slots)`, "1 slot belongs to no series; 1 series has another newest slot than it says; 1 series has another slot to claim than it says"},
	{`DELETE FROM channels WHERE id = 1`, "4 videos belong to a missing channel"},
	{`UPDATE series SET newest = newest - 60`, "2 series have another newest slot than they say"},
	{`UPDATE series SET open = NULL`, "1 series has another slot to claim than it says"},
	{`UPDATE series SET open = 5`, "2 series have another slot to claim than they say"},
	{`UPDATE series SET fresh_at = NULL`, "2 series were fresh later than they say"},
	{`UPDATE video_facts SET title = 'X' || title WHERE id < 4`, "3 videos have another text than when they were indexed"},
}

func TestRepairCorrectsContradictingTables(t *testing.T) {
	alone(t)
	base := t.TempDir()
	library(t, base, 40)
	for _, tt := range spoiled {
		t.Run(tt.sql, func(t *testing.T) {
			dir := t.TempDir()
			path := copyStore(t, base, dir)
			db := raw(t, path)
			if _, err := db.ExecContext(t.Context(), tt.sql); err != nil {
				t.Fatal(err)
			}
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
			s := open(t, dir, &handClock{t: noon})
			if found, err := s.CheckOpen(t.Context()); err != nil || strings.Join(found, "; ") != tt.says {
				t.Errorf("check says %q (%v), want %q", found, err, tt.says)
			}
			r := repair(t, dir) // while others have it open
			if strings.Join(r.Found, "; ") != tt.says || len(r.Done) == 0 || r.Broken != "" || len(r.Lost) > 0 {
				t.Errorf("repaired %+v", r)
			}
			sound(t, s)
			if again := repair(t, dir); len(again.Found) > 0 || len(again.Done) > 0 {
				t.Errorf("repaired again %+v, want nothing found or done", again)
			}
			wantEntries(t, dir, "ingest.db", "ingest.db-shm", "ingest.db-wal")
		})
	}
}

// sound requires that a store is consistent, finds all that it has, and takes the next chart.
func sound(t *testing.T, s *store.Store) {
	t.Helper()
	if found, err := s.CheckOpen(t.Context()); err != nil || len(found) > 0 {
		t.Errorf("check says %q, %v, want none", found, err)
	}
	db := raw(t, s.Path())
	defer func() { _ = db.Close() }()
	want := scalar[int](t, db, `SELECT count(*) FROM videos JOIN channels ON channels.id = channel WHERE channels.title LIKE '%kanal%'`)
	if got := scalar[int](t, db, `SELECT count(*) FROM video_text('kanal')`); got < want {
		t.Errorf("a search finds %d videos of %d", got, want)
	}
	chart(t, s, "CA", noon, page(titled("v0001", "Film 0001 neu"), titled("never-seen", "Neu")))
	if got := ranks(t, s, "CA"); got != "1 v0001, 2 never-seen" {
		t.Errorf("the next chart is %q, want \"1 v0001, 2 never-seen\"", got)
	}
	if got := search(t, s, store.SearchQuery{Text: `"0001 neu"`}); !slices.Equal(got, []string{"v0001"}) {
		t.Errorf("the next chart is found as %v, want [v0001]", got)
	}
}

func copyStore(t testing.TB, from, to string) (path string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(from, "ingest.db"))
	if err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(to, "ingest.db")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestRepairRebuildsAnIndexThatIsDamaged(t *testing.T) {
	dir := t.TempDir()
	path := library(t, dir, 300) // more than one step of it
	db := raw(t, path)
	if _, err := db.ExecContext(t.Context(), `UPDATE video_text_data SET block = zeroblob(40) WHERE id > 10`); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	r := repair(t, dir)
	if len(r.Found) == 0 || !slices.Contains(r.Done, "indexed 450 videos") || r.Broken != "" {
		t.Errorf("repaired %+v", r)
	}
	sound(t, open(t, dir, &handClock{t: noon}))
}

// The lost part of a damaged file is reported; the rest is there, with the units that quota rebuild needs.
func TestRepairMovesTheReadableRows(t *testing.T) {
	alone(t)
	tests := []struct {
		name, table string
		lost        []string
	}{
		{"videos", "video_facts", []string{"charts that were no longer complete", "video_facts: the rows on unreadable pages"}},
		{"counts", "video_latest", []string{"video_latest: the rows on unreadable pages"}},
		{"placements", "placements", []string{"charts that were no longer complete", "placements: the rows on unreadable pages"}},
		{"slots", "slots", []string{"slots: the rows on unreadable pages"}},
		{"series", "series", []string{"series: the rows on unreadable pages"}},
		{"channels", "channels", []string{"channels: the rows on unreadable pages"}},
		{"an index", "videos_fetched", nil},
		{"the index of words", "video_text_data", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			path := library(t, dir, 300)
			db := raw(t, path)
			units := scalar[int](t, db, `SELECT sum(units) FROM slots`)
			number := scalar[int](t, db, `SELECT pageno FROM dbstat WHERE name = ? AND pagetype = 'leaf' ORDER BY pageno LIMIT 1 OFFSET (
				SELECT count(*) / 2 FROM dbstat WHERE name = ?1 AND pagetype = 'leaf')`, tt.table)
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
			spoil(t, path, number-1, func(b []byte) { clear(b) })
			r := repair(t, dir)
			if len(r.Found) == 0 {
				t.Error("Repair of a damaged store: got no findings, want at least 1")
			}
			for _, want := range tt.lost {
				if !strings.Contains(strings.Join(r.Lost, "; "), want) {
					t.Errorf("lost %q, want %q in it", r.Lost, want)
				}
			}
			if len(tt.lost) == 0 && len(r.Lost) > 0 {
				t.Errorf("lost %q of what has lost nothing", r.Lost)
			}
			s := open(t, dir, &handClock{t: noon})
			lost, err := s.LostSlots(t.Context())
			if unknown := tt.table == "slots" || tt.table == "series"; err != nil || lost.Equal(noon) != unknown {
				t.Errorf("slots were lost at %v, %v, want %v", lost, err, unknown)
			}
			db = raw(t, path)
			if got := scalar[int](t, db, `SELECT coalesce(sum(units), 0) FROM slots JOIN series ON series.id = series`); tt.table != "slots" && got != units {
				t.Errorf("the slots know of %d units, want %d", got, units)
			}
			if half := scalar[int](t, db, `
				SELECT count(*) FROM slots WHERE state = 'done' AND videos <> (SELECT count(*) FROM placements WHERE slot = slots.id)`); half > 0 {
				t.Errorf("%d charts are half, want none", half)
			}
			if got := scalar[int](t, db, `SELECT count(*) FROM videos`); got < 300 {
				t.Errorf("%d videos of 450 are left, want at least 300", got)
			}
			sound(t, s)
			if kept, err := os.Stat(r.Broken); tt.table != "video_text_data" && (err != nil || kept.Mode().Perm()&0o077 != 0) {
				t.Errorf("the damaged file: %v, %v", kept, err)
			}
		})
	}
}

// Rows between two damaged pages are found by their numbers.
func TestRepairReadsOnBehindDamage(t *testing.T) {
	alone(t)
	dir := t.TempDir()
	path := library(t, dir, 900)
	db := raw(t, path)
	pages := column[int](t, db, `SELECT pageno FROM dbstat WHERE name = 'video_latest' AND pagetype = 'leaf' ORDER BY pageno`)
	all := scalar[int](t, db, `SELECT count(*) FROM video_latest WHERE seen_at > 0`)
	if err := db.Close(); err != nil || len(pages) < 8 {
		t.Fatal(pages, err)
	}
	for _, n := range []int{pages[2], pages[len(pages)-2]} {
		spoil(t, path, n-1, func(b []byte) { clear(b) })
	}
	r := repair(t, dir)
	if !slices.Contains(r.Lost, "video_latest: the rows on unreadable pages") {
		t.Errorf("lost %q", r.Lost)
	}
	db = raw(t, path)
	if left := scalar[int](t, db, `SELECT count(*) FROM video_latest WHERE views IS NOT NULL`); left < all*(len(pages)-4)/len(pages) {
		t.Errorf("of %d counts on %d pages %d are left", all, len(pages), left)
	}
	sound(t, open(t, dir, &handClock{t: noon}))
}

// Slots that went without a trace in the file are missed by their series.
func TestRepairNotesThatSlotsAreGone(t *testing.T) {
	dir := t.TempDir()
	db := raw(t, library(t, dir, 3))
	if _, err := db.ExecContext(t.Context(), `DELETE FROM placements; DELETE FROM slots WHERE due_at = (SELECT max(due_at) FROM slots)`); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	repair(t, dir)
	if lost, err := open(t, dir, &handClock{t: noon}).LostSlots(t.Context()); err != nil || !lost.Equal(noon) {
		t.Errorf("lost at %v, %v", lost, err)
	}
}

// A file without one readable row is kept, and the store starts over.
func TestRepairOfAFileThatIsNoDatabaseBeginsAnew(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "ingest.db")
	text := []byte(strings.Repeat("no database at all\n", 500))
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	r := repair(t, dir)
	if kept, err := os.ReadFile(r.Broken); err != nil || !slices.Equal(kept, text) {
		t.Errorf("it was not kept: %v", err)
	}
	sound(t, open(t, dir, &handClock{t: noon}))
}

func TestRepairRefusesForeignFiles(t *testing.T) {
	for pragma, as := range map[string]any{
		`PRAGMA application_id = 7`: new(*store.ApplicationError), `PRAGMA user_version = 99`: new(*store.VersionError),
	} {
		dir := t.TempDir()
		db := raw(t, library(t, dir, 3))
		if _, err := db.ExecContext(t.Context(), pragma); err != nil {
			t.Fatal(err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		if r, err := store.Repair(t.Context(), dir, store.Options{}); !errors.As(err, as) || len(r.Done) > 0 {
			t.Errorf("%s: %+v, %v, want error %T, and nothing repaired", pragma, r, err, as)
		}
		if kept, err := filepath.Glob(filepath.Join(dir, "*.broken-*")); err != nil || len(kept) > 0 {
			t.Errorf("made %v, want none", kept)
		}
	}
	if _, err := store.Repair(t.Context(), t.TempDir(), store.Options{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no store: %v", err)
	}
}

// TestADamagedPageIsFoundOrHarmless damages pages by seed, more of them with SOAK set. Whatever is hit: no panic;
// damage that no check finds has changed no text and no rank; and after a repair the store is sound.
func TestADamagedPageIsFoundOrHarmless(t *testing.T) {
	alone(t)
	base := t.TempDir()
	whole := truth(t, raw(t, library(t, base, 120)))
	seeds := 12
	switch {
	case os.Getenv("SOAK") != "":
		seeds = 100
	case testing.Short():
		seeds = 3
	}
	found, refused, harmless := 0, 0, 0
	for seed := range uint64(seeds) {
		dir := t.TempDir()
		path := copyStore(t, base, dir)
		damage(t, path, rand.New(rand.NewPCG(seed, 7)))
		before, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		said, err := glance(t, dir)
		var application *store.ApplicationError
		var version *store.VersionError
		switch {
		case errors.As(err, &application), errors.As(err, &version):
			refused++
			if after, err := os.ReadFile(path); err != nil || !slices.Equal(before, after) {
				t.Errorf("seed %d: what was refused was changed (%v), want %v", seed, err, after)
			}
			continue
		case err == nil && len(said) == 0:
			harmless++
			if got := truth(t, raw(t, path)); !slices.Equal(got, whole) {
				t.Errorf("seed %d: other rows, and nobody says so: %v, want %v", seed, got, whole)
			}
		default:
			found++
		}
		r, err := store.Repair(t.Context(), dir, store.Options{Now: func() time.Time { return noon }})
		if err != nil {
			t.Errorf("seed %d: %v after %+v", seed, err, r)
			continue
		}
		s, err := store.Open(t.Context(), dir, store.Options{Upstream: upstream, Now: func() time.Time { return noon }})
		if err != nil {
			t.Errorf("seed %d: %v", seed, err)
			continue
		}
		sound(t, s)
		if err := s.Close(); err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
		if t.Failed() {
			t.Fatalf("seed %d: repaired %+v", seed, r)
		}
	}
	t.Logf("%d seeds: %d found and repaired, %d refused, %d harmless", seeds, found, refused, harmless)
}

// damage flips a few bytes of a page, or clears it.
func damage(t testing.TB, path string, random *rand.Rand) {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	spoil(t, path, random.IntN(int(info.Size()/4096)), func(b []byte) {
		if random.IntN(4) == 0 {
			clear(b)
			return
		}
		for range 1 + random.IntN(16) {
			b[random.IntN(len(b))] ^= byte(1 + random.IntN(255))
		}
	})
}

// glance does a person's steps: it must not panic on any input.
func glance(t *testing.T, dir string) (found []string, err error) {
	t.Helper()
	s, err := store.Open(t.Context(), dir, store.Options{ReadOnly: true})
	if err != nil {
		return nil, err
	}
	defer func() { _ = s.Close() }()
	for _, text := range []string{"kanal", "film -0001", `"नमस्ते"`, "00*"} {
		_, _ = s.Search(t.Context(), store.SearchQuery{Text: text})
	}
	_, _ = s.Chart(t.Context(), "US", time.Time{}, true)
	_, _ = s.ListSlots(t.Context(), store.SlotFilter{})
	return s.CheckOpen(t.Context())
}

// truth returns the store's texts and ranks.
func truth(t testing.TB, db *sql.DB) []string {
	t.Helper()
	defer func() { _ = db.Close() }()
	return append(dump(t, db, "videos LEFT JOIN channels ON channels.id = channel", []string{"video_id", "videos.title", "tags", "channels.channel_id", "channels.title"}),
		dump(t, db, "placements JOIN videos ON videos.id = video JOIN slots ON slots.id = slot", []string{"video_id", "due_at", "rank"})...)
}

// Tags that are not JSON are damage like any other: they are reported, repaired, and hide nothing else.
func TestTagsThatAreDamagedHideNothing(t *testing.T) {
	alone(t)
	dir := t.TempDir()
	path := library(t, dir, 40)
	db := raw(t, path)
	if _, err := db.ExecContext(t.Context(), `UPDATE video_facts SET tags = '["a' || char(31) || '"]' WHERE id = 7`); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	found, err := glance(t, dir)
	if err != nil || len(found) != 1 || !strings.Contains(found[0], "1 video has another text") {
		t.Fatalf("%q, %v, want 1 and \"1 video has another text\" in it", found, err)
	}
	if _, err := store.Repair(t.Context(), dir, store.Options{Now: func() time.Time { return noon }}); err != nil {
		t.Fatal(err)
	}
	sound(t, open(t, dir, &handClock{t: noon}))
}

// The refresh finds the lost videos, fetched on any day.
func TestVideosThatRepairMarksForARefreshAreStale(t *testing.T) {
	for _, spoil := range []string{`DELETE FROM video_latest WHERE id IN (7, 8)`, `UPDATE video_facts SET title = 'X' || title WHERE id IN (7, 8)`} {
		dir := t.TempDir()
		db := raw(t, library(t, dir, 40))
		if _, err := db.ExecContext(t.Context(), spoil); err != nil {
			t.Fatal(err)
		}
		r := repair(t, dir)
		if done := strings.Join(r.Done, "; "); !strings.HasPrefix(done, "marked 2 videos to be refreshed") {
			t.Errorf("%s: repair says it %s, want \"marked 2 videos to be refreshed\" at the beginning", spoil, done)
		}
		s := open(t, dir, &handClock{t: noon})
		want := []string{
			scalar[string](t, db, `SELECT video_id FROM video_facts WHERE id = 7`),
			scalar[string](t, db, `SELECT video_id FROM video_facts WHERE id = 8`),
		}
		if got := stale(t, s, noon, 9); !slices.Equal(got, want) {
			t.Errorf("%s: %v are to be refreshed, want %v", spoil, got, want)
		}
	}
}

func TestAnIndexWithoutItsVersionIsDamage(t *testing.T) {
	dir := t.TempDir()
	path := library(t, dir, 40)
	db := raw(t, path)
	if _, err := db.ExecContext(t.Context(), `DELETE FROM video_text_config`); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Repair(t.Context(), dir, store.Options{Now: func() time.Time { return noon }}); err != nil {
		t.Fatal(err)
	}
	sound(t, open(t, dir, &handClock{t: noon}))
}
