package store_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/trendvidstream/ingest/store"
)

// The header says how every page is read. With any byte of it flipped: nothing else is lost, or the file is refused,
// as another program's or as one of a newer version.
func TestAFlippedByteOfTheHeaderLosesNothing(t *testing.T) {
	base := t.TempDir()
	path := library(t, base, 40)
	want := truth(t, raw(t, path))
	bytes := flipped()
	repaired := 0
	for _, at := range bytes {
		dir := t.TempDir()
		path := copyStore(t, base, dir)
		spoil(t, path, 0, func(b []byte) { b[at] ^= 0x11 })
		r, err := store.Repair(t.Context(), dir, store.Options{Now: func() time.Time { return noon }})
		var newer *store.VersionError
		var foreign *store.ApplicationError
		if errors.As(err, &newer) && at >= 60 && at < 64 || errors.As(err, &foreign) && at >= 68 && at < 72 {
			continue
		}
		if err != nil || len(r.Lost) > 0 {
			t.Errorf("byte %d: lost %q, %v, want none", at, r.Lost, err)
			continue
		}
		repaired += min(len(r.Found), 1)
		s := open(t, dir, &handClock{t: noon})
		if got := truth(t, raw(t, path)); !slices.Equal(got, want) {
			t.Errorf("byte %d: other rows after %+v, want %v", at, r, want)
		}
		sound(t, s)
	}
	t.Logf("%d bytes flipped, one at a time: %d stores were repaired", len(bytes), repaired)
	if repaired < len(bytes)/4 {
		t.Errorf("only %d of %d were damaged at all", repaired, len(bytes))
	}
}

// The log of a store that was deleted without it is not written into the new one.
func TestALogWithoutItsStoreIsMovedAside(t *testing.T) {
	dir, from := t.TempDir(), t.TempDir()
	old := open(t, from, &handClock{t: noon})
	chart(t, old, "US", noon, page(titled("a", "Apfel")))
	for _, suffix := range []string{"-wal", "-shm"} {
		text, err := os.ReadFile(old.Path() + suffix)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "ingest.db"+suffix), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := open(t, dir, &handClock{t: noon})
	if got := search(t, s, store.SearchQuery{Text: "apfel"}); len(got) > 0 {
		t.Errorf("found %v of another store, want none", got)
	}
	sound(t, s)
	wantEntries(t, dir, "ingest.db", "ingest.db-shm", "ingest.db-shm.left-20260214T120000.000Z", "ingest.db-wal", "ingest.db-wal.left-20260214T120000.000Z")
}

// Reading the damaged file leaves nothing next to it but its log.
func TestARepairLeavesTheDamagedFileAndItsLogAlone(t *testing.T) {
	dir := t.TempDir()
	old := open(t, t.TempDir(), &handClock{t: noon})
	chart(t, old, "US", noon, page(titled("a", "Apfel")))
	path := filepath.Join(dir, "ingest.db")
	for _, suffix := range []string{"", "-wal"} {
		text, err := os.ReadFile(old.Path() + suffix)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path+suffix, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	spoil(t, path, 0, func(b []byte) { b[0] ^= 0x11 })
	r := repair(t, dir)
	broken := filepath.Base(r.Broken)
	wantEntries(t, dir, "ingest.db", broken, broken+"-wal")
}

// flipped returns the bytes to flip: all of the header with SOAK set, and else the most important bytes.
func flipped() (bytes []int) {
	if raced || testing.Short() {
		return []int{0, 18, 28}
	}
	for at := range 100 {
		if os.Getenv("SOAK") != "" || at%16 == 0 || slices.Contains([]int{18, 20, 28, 47, 60, 63, 68, 71}, at) {
			bytes = append(bytes, at)
		}
	}
	return bytes
}

// A header that makes SQLite treat the file as read-only is damage, and is reported before anything is fetched.
func TestAHeaderThatForbidsWritingIsNamed(t *testing.T) {
	dir := t.TempDir()
	path := library(t, dir, 3)
	spoil(t, path, 0, func(b []byte) { b[18] ^= 0x11 })
	var corrupt *store.CorruptError
	if _, err := store.Open(t.Context(), dir, store.Options{Upstream: upstream}); !errors.As(err, &corrupt) || !strings.Contains(err.Error(), "doctor --repair") {
		t.Errorf("opened to write: %v", err)
	}
	if found, err := glance(t, dir); err != nil || len(found) != 1 || !strings.Contains(found[0], "its header forbids writing") {
		t.Errorf("check says %q, %v, want 1 and \"its header forbids writing\" in it", found, err)
	}
}

// An empty file with a log is the remains of a truncated file: SQLite would delete the log.
func TestAnEmptyFileIsBegunAnewFromItsLog(t *testing.T) {
	for _, logged := range []bool{false, true} {
		dir, from := t.TempDir(), t.TempDir()
		s := open(t, from, &handClock{t: noon})
		chart(t, s, "US", noon, page(titled("a", "Apfel")))
		for _, suffix := range []string{"", "-wal"} {
			text, err := os.ReadFile(s.Path() + suffix)
			if err != nil {
				t.Fatal(err)
			}
			if suffix == "" {
				text = nil
			} else if !logged {
				continue
			}
			if err := os.WriteFile(filepath.Join(dir, "ingest.db"+suffix), text, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := glance(t, dir); err == nil {
			t.Error("a glance at an empty file: got no error, want one")
		}
		if _, err := os.Stat(filepath.Join(dir, "ingest.db-wal")); logged != (err == nil) {
			t.Errorf("the log: %v", err)
		}
		r := repair(t, dir)
		if len(r.Found) == 0 || r.Broken == "" {
			t.Errorf("repaired %+v", r)
		}
		if _, err := os.Stat(r.Broken + "-wal"); logged && err != nil {
			t.Errorf("the log was not kept: %v", err)
		}
		sound(t, open(t, dir, &handClock{t: noon}))
		left, err := filepath.Glob(filepath.Join(dir, "*.new-*"))
		if err != nil || len(left) > 0 {
			t.Errorf("left %v, want none", left)
		}
	}
}
