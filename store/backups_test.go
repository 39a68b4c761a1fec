package store_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/trendvidstream/ingest/store"
)

// A file that is no store, is a link, has another name or is younger stays, even if its name says otherwise.
func TestOnlyOwnBackupsExpire(t *testing.T) {
	data, dir, now := t.TempDir(), t.TempDir(), time.Date(2026, 2, 14, 9, 40, 0, 0, time.UTC)
	s, err := store.Open(t.Context(), data, store.Options{Upstream: "localhost", Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	made, err := s.Backup(t.Context(), store.BackupName(dir, now))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(made.Path)
	if err != nil {
		t.Fatal(err)
	}
	old := now.AddDate(0, 0, -40)
	for name, text := range map[string][]byte{
		"ingest-20260105T094000Z.db": whole, "ingest-20260114T093959Z.db": whole,
		"ingest-20260115T094000Z.db":    whole,              // 30 days old, and no more
		"ingest-20260104T094000Z.db":    []byte("no store"), // of another user
		"ingest-20260103T094000Z.db":    whole[:60],         // cut short
		"ingest-20260199T094000Z.db":    whole,              // no day
		"ingest-20260102T094000Z.db.gz": whole, "mine.db": whole, "ingest.db": whole,
	} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, old, old); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(made.Path, filepath.Join(dir, "ingest-20260101T094000Z.db")); err != nil {
		t.Fatal(err)
	}
	deleted, err := store.ExpireBackups([]string{dir}, now.AddDate(0, 0, -30))
	if err != nil {
		t.Fatal(err)
	}
	for i := range deleted {
		deleted[i] = filepath.Base(deleted[i])
	}
	if want := []string{"ingest-20260105T094000Z.db", "ingest-20260114T093959Z.db"}; !slices.Equal(deleted, want) {
		t.Errorf("deleted %q, want %q", deleted, want)
	}
	copies, err := store.FindCopies(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, c := range copies {
		names = append(names, filepath.Base(c.Path))
	}
	slices.Sort(names)
	if want := []string{"ingest-20260102T094000Z.db.gz", "ingest-20260115T094000Z.db", "ingest-20260199T094000Z.db", filepath.Base(made.Path), "mine.db"}; !slices.Equal(names, want) {
		t.Errorf("copies %q, want %q", names, want)
	}
	if deleted, err := store.ExpireBackups([]string{filepath.Join(dir, "missing")}, now); err != nil || deleted != nil {
		t.Errorf("a directory that is missing: %q, %v", deleted, err)
	}
}
