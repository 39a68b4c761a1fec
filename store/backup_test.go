package store_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/store"
)

func TestABackupIsAStoreOfItsOwn(t *testing.T) {
	for _, readOnly := range []bool{false, true} {
		s, _ := newStore(t)
		chart(t, s, "US", noon, page(titled("a", "Apfel"), titled("b", "Birne")))
		if readOnly {
			r, err := store.Open(t.Context(), filepath.Dir(s.Path()), store.Options{ReadOnly: true})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = r.Close() }()
			s = r
		}
		dir := t.TempDir()
		file := filepath.Join(dir, "ingest.db")
		made, err := s.Backup(t.Context(), file)
		if err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		want := ingest.Backup{Path: file, Bytes: info.Size(), Videos: 2, Placements: 2, Slots: 1}
		if made != want {
			t.Errorf("made %+v, want %+v", made, want)
		}
		if runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
			t.Errorf("mode %o", info.Mode().Perm())
		}
		wantEntries(t, dir, "ingest.db")
		if mode := scalar[string](t, raw(t, file), `PRAGMA journal_mode`); mode != "wal" {
			t.Errorf("journal mode %s, want \"wal\"", mode)
		}
		copied := open(t, dir, &handClock{t: noon})
		if got := ranks(t, copied, "US"); got != "1 a, 2 b" {
			t.Errorf("the chart is %q, want \"1 a, 2 b\"", got)
		}
		if got := search(t, copied, store.SearchQuery{Text: "birne"}); !slices.Equal(got, []string{"b"}) {
			t.Errorf("found %v, want [b]", got)
		}
	}
}

func TestTheTimeOfTheNewestBackupIsKept(t *testing.T) {
	s, _ := newStore(t)
	if at, err := s.LastBackup(t.Context()); err != nil || !at.IsZero() {
		t.Errorf("%v %v, and none was made", at, err)
	}
	began := time.Now().Add(-2 * time.Second) // a file system may round
	if _, err := s.Backup(t.Context(), s.Path()); err == nil {
		t.Fatal("a backup over the store itself: got no error, want one")
	}
	if at, _ := s.LastBackup(t.Context()); !at.IsZero() {
		t.Errorf("%v, and the one that was tried failed", at)
	}
	if _, err := s.Backup(t.Context(), filepath.Join(t.TempDir(), "copy.db")); err != nil {
		t.Fatal(err)
	}
	if at, err := s.LastBackup(t.Context()); err != nil || at.Before(began) {
		t.Errorf("%v %v, want about now", at, err)
	}
}

func TestABackupNeverOverwrites(t *testing.T) {
	s, _ := newStore(t)
	for _, name := range []string{"b.db", "b.db-wal", "b.db-journal"} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, name), []byte("mine"), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := s.Backup(t.Context(), filepath.Join(dir, "b.db"))
		if !errors.Is(err, fs.ErrExist) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s is there: %v, want fs.ErrExist", name, err)
		}
		wantEntries(t, dir, name)
	}
	if _, err := s.Backup(t.Context(), s.Path()); !errors.Is(err, fs.ErrExist) {
		t.Errorf("onto itself: %v, want error %v", err, fs.ErrExist)
	}
}

func TestABackupThatFailsLeavesNothing(t *testing.T) {
	s, _ := newStore(t)
	dir := t.TempDir()
	ctx, cancel := cancelled(t)
	defer cancel()
	if _, err := s.Backup(ctx, filepath.Join(dir, "b.db")); err == nil {
		t.Error("a backup under a cancelled context: got no error, want one")
	}
	if _, err := s.Backup(t.Context(), filepath.Join(dir, "missing", "b.db")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no directory: %v", err)
	}
	chart(t, s, "US", noon, page(titled("a", strings.Repeat("Apfel ", 20_000))))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	spoil(t, s.Path(), -1, func(b []byte) {
		for i := len(b) / 2; i < len(b); i++ {
			b[i] ^= 0x5a
		}
	})
	r, err := store.Open(t.Context(), filepath.Dir(s.Path()), store.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	var corrupt *store.CorruptError
	if _, err := r.Backup(t.Context(), filepath.Join(dir, "b.db")); !errors.As(err, &corrupt) {
		t.Errorf("of a damaged store: %v, want a CorruptError", err)
	}
	wantEntries(t, dir)
}

// The next backup into the same file removes the leftovers of a killed one; files not known to be such stay.
func TestABackupRemovesAKilledOnesLeftovers(t *testing.T) {
	s, _ := newStore(t)
	chart(t, s, "US", noon, page(titled("a", "Apfel")))
	dir := t.TempDir()
	for _, name := range []string{"b.db.part-17", "b.db.part-17-journal", "b.db.part-17-wal", "b.db.part-of-mine", "b.db.part-", "c.db.part-17"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("half"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Backup(t.Context(), filepath.Join(dir, "b.db")); err != nil {
		t.Fatal(err)
	}
	wantEntries(t, dir, "b.db", "b.db.part-", "b.db.part-of-mine", "c.db.part-17")
}

// spoil changes a file in place: the page with that number, or all of it for -1.
func spoil(t testing.TB, path string, page int, change func([]byte)) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	part := text
	if page >= 0 {
		part = text[page*4096 : (page+1)*4096]
	}
	change(part)
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// While one writes and one searches, backups are taken: they do not disturb each other, and each backup is whole.
func TestABackupIsOfOneMomentWhileOthersWork(t *testing.T) {
	s, _ := newStore(t)
	chart(t, s, "US", noon, page(titled("first", "erster")))
	stop := make(chan struct{})
	var all sync.WaitGroup
	all.Go(func() {
		for i := 1; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			at := noon.Add(time.Duration(i) * time.Minute)
			var videos []ingest.Video
			for v := range 20 {
				videos = append(videos, titled(strconv.Itoa(i%50)+"-"+strconv.Itoa(v), "zweiter"))
			}
			chart(t, s, "US", at, page(videos...))
		}
	})
	all.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				search(t, s, store.SearchQuery{Text: "zweiter"})
			}
		}
	})
	dir := t.TempDir()
	for n := range 3 {
		if _, err := s.Backup(t.Context(), filepath.Join(dir, strconv.Itoa(n), "ingest.db")); !errors.Is(err, fs.ErrNotExist) {
			t.Error(err)
		}
		if err := os.Mkdir(filepath.Join(dir, strconv.Itoa(n)), 0o700); err != nil {
			t.Error(err)
		}
		if _, err := s.Backup(t.Context(), filepath.Join(dir, strconv.Itoa(n), "ingest.db")); err != nil {
			t.Error(err)
		}
	}
	close(stop)
	all.Wait()
	for n := range 3 {
		c := open(t, filepath.Join(dir, strconv.Itoa(n)), &handClock{t: noon})
		if found, err := c.CheckOpen(t.Context()); err != nil || len(found) > 0 {
			t.Errorf("backup %d: %v, %v, want none", n, found, err)
		}
		if n := scalar[int](t, raw(t, c.Path()), `
			SELECT count(*) FROM slots WHERE state = 'done' AND videos <> (SELECT count(*) FROM placements WHERE slot = slots.id)`); n > 0 {
			t.Errorf("%d charts are not whole", n)
		}
	}
}
