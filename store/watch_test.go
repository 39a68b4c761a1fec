package store_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/store"
)

// A log is deleted under a process that writes: this is reported once, acknowledged transactions are kept, and the
// next transaction is visible to others.
func TestALogThatIsDeletedInUseIsWrittenBack(t *testing.T) {
	for _, taken := range [][]string{{"-wal"}, {"-shm"}, {"-wal", "-shm"}} {
		dir := t.TempDir()
		s := open(t, dir, &handClock{t: noon})
		chart(t, s, "US", noon, page(titled("a", "Apfel"), titled("b", "Birne")))
		search(t, s, store.SearchQuery{Text: "apfel"})
		for _, suffix := range taken {
			if err := os.Remove(s.Path() + suffix); err != nil {
				t.Fatal(err)
			}
		}
		err := s.AddDue(t.Context(), []ingest.Slot{due("US", noon.Add(time.Hour))})
		if err == nil || !strings.Contains(err.Error(), "was deleted or replaced while it was in use: the content of the log has been saved") {
			t.Errorf("%v deleted: %v", taken, err)
		}
		chart(t, s, "GB", noon, page(titled("c", "Citrone")))
		other := open(t, dir, &handClock{t: noon}) // as another process does
		for region, want := range map[ingest.Region]string{"US": "1 a, 2 b", "GB": "1 c"} {
			if got := ranks(t, other, region); got != want {
				t.Errorf("%v deleted: another finds %s: %q, want %v", taken, region, got, want)
			}
			if got := ranks(t, s, region); got != want {
				t.Errorf("%v deleted: it finds %s: %q, want %v", taken, region, got, want)
			}
		}
		sound(t, s)
	}
}

// A store is deleted, or replaced by a backup, under a process that writes: that process writes nothing more to it.
func TestAStoreThatIsReplacedInUseTakesNothing(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, &handClock{t: noon})
	chart(t, s, "US", noon, page(titled("a", "Apfel")))
	if _, err := s.Backup(t.Context(), filepath.Join(dir, "copy.db")); err != nil {
		t.Fatal(err)
	}
	for _, step := range []error{os.Remove(s.Path()), os.Rename(filepath.Join(dir, "copy.db"), s.Path())} {
		if step != nil {
			t.Fatal(step)
		}
	}
	before, err := os.ReadFile(s.Path())
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := s.AddDue(t.Context(), []ingest.Slot{due("US", noon.Add(time.Hour))}); err == nil ||
			!strings.Contains(err.Error(), "stop ingest serve, and start it again") {
			t.Errorf("it went on: %v", err)
		}
	}
	if after, err := os.ReadFile(s.Path()); err != nil || !bytes.Equal(after, before) {
		t.Errorf("the backup was changed: %v, %d bytes, want the same %d", err, len(after), len(before))
	}
}

// A newer program may upgrade the store while an older one has it open: the older one writes nothing more.
func TestAProgramThatHasBecomeTooOldWritesNothing(t *testing.T) {
	s, _ := newStore(t)
	chart(t, s, "US", noon, page(titled("a", "Apfel")))
	if _, err := raw(t, s.Path()).ExecContext(t.Context(), fmt.Sprint(`PRAGMA user_version = `, store.SchemaVersion()+1)); err != nil {
		t.Fatal(err)
	}
	var newer *store.VersionError
	err := s.AddDue(t.Context(), []ingest.Slot{due("US", noon.Add(time.Hour))})
	if !errors.As(err, &newer) || newer.Have != store.SchemaVersion()+1 || !strings.Contains(err.Error(), "use the newer program") {
		t.Errorf("it wrote into a newer version: %v", err)
	}
	if n := scalar[int](t, raw(t, s.Path()), `SELECT count(*) FROM slots`); n != 1 {
		t.Errorf("%d slots, want 1", n)
	}
}

// Cached pages of this process read well after any change of the file: whether others find the store in its place is
// asked of the file itself.
func TestAFileThatIsNoLongerTheStoreIsNoticedByWhoHasItOpen(t *testing.T) {
	for what, happens := range map[string]func(s *store.Store) error{
		"deleted":     func(s *store.Store) error { return os.Remove(s.Path()) },
		"emptied":     func(s *store.Store) error { return os.Truncate(s.Path(), 0) },
		"overwritten": func(s *store.Store) error { return os.WriteFile(s.Path(), []byte("not a database"), 0o600) },
		"replaced": func(s *store.Store) error {
			_, err := s.Backup(t.Context(), s.Path()+".copy")
			return errors.Join(err, os.Rename(s.Path()+".copy", s.Path()))
		},
		"without its log": func(s *store.Store) error { return os.Remove(s.Path() + "-wal") },
	} {
		s := open(t, t.TempDir(), &handClock{t: noon})
		chart(t, s, "US", noon, page(titled("a", "Apfel")))
		if err := s.CheckPlace(t.Context()); err != nil {
			t.Errorf("before it is %s: %v", what, err)
		}
		if err := happens(s); err != nil {
			t.Fatal(err)
		}
		if err := s.CheckPlace(t.Context()); err == nil {
			t.Errorf("%s: it is not noticed", what)
		}
	}
}
