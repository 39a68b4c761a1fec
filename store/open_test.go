package store_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/trendvidstream/ingest/store"
)

func TestANewStoreIsForItsUserAlone(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("windows: no such modes")
	}
	dir := filepath.Join(t.TempDir(), "a", "b")
	s := open(t, dir, &handClock{t: noon})
	chart(t, s, "US", noon, page(titled("a", "A")))
	for path, want := range map[string]fs.FileMode{
		filepath.Dir(dir): 0o700, dir: 0o700, s.Path(): 0o600, s.Path() + "-wal": 0o600, s.Path() + "-shm": 0o600,
	} {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm(); got != want {
			t.Errorf("%s has mode %o, want %o", path, got, want)
		}
	}
}

func TestAnyPathWorks(t *testing.T) {
	names := []string{"with space", "a?b=c", "a#b", "a%20b", "100%", "ü 東京", "a&mode=memory", ";'quote"}
	if runtime.GOOS == "windows" {
		names = []string{"with space", "a#b", "a%20b", "100%", "ü 東京", "a&mode=memory", ";'quote"}
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), name)
			s := open(t, dir, &handClock{t: noon})
			chart(t, s, "US", noon, page(titled("a", "A")))
			if _, err := os.Stat(filepath.Join(dir, "ingest.db")); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestReadingAStoreThatIsNotThereCreatesNothing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "missing")
	_, err := store.Open(t.Context(), dir, store.Options{ReadOnly: true})
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v, want fs.ErrNotExist", err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Error("a refused open: got a new directory, want none")
	}
}

func TestAReaderOpensAnyUpstreamAndWritesNothing(t *testing.T) {
	dir := t.TempDir()
	w := open(t, dir, &handClock{t: noon})
	chart(t, w, "US", noon, page(titled("a", "Findling")))
	r, err := store.Open(t.Context(), dir, store.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	if got := search(t, r, store.SearchQuery{Text: "findling"}); len(got) != 1 {
		t.Errorf("found %v, want one", got)
	}
	addDue(t, w, due("GB", noon))
	if _, _, err := r.Claim(t.Context(), by("r", noon)); !errors.Is(err, store.ErrReadOnly) {
		t.Errorf("claim: %v, want ErrReadOnly", err)
	}
}

// refused are files that must not be opened, by the change to a good store.
func TestForeignFilesAreRefusedUnchanged(t *testing.T) {
	var version *store.VersionError
	var application *store.ApplicationError
	var corrupt *store.CorruptError
	tests := []struct {
		name  string
		spoil string // SQL on a good store; or
		bytes string // the file itself
		as    any
		says  string
	}{
		{"newer version", `PRAGMA user_version = 8`, "", &version, "has version 8, this program knows version 1: use the newer program that wrote it, or move it away and begin a new store: ingest run --accept-new-store"},
		{"other application", `PRAGMA application_id = 0x12345678`, "", &application, "is not a store of ingest (application id 0x12345678)"},
		{"no database", "", strings.Repeat("no database at all\n", 500), &corrupt, "is damaged or is no database"},
		{"a version that does not exist", `PRAGMA user_version = 0`, "", &corrupt, "the header has version 0, which does not exist"},
		{"empty file", "", "", &corrupt, "run ingest doctor --repair"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "ingest.db")
			if tt.spoil != "" {
				s, err := store.Open(t.Context(), dir, store.Options{Upstream: upstream})
				if err != nil {
					t.Fatal(err)
				}
				db := raw(t, path)
				if _, err := db.ExecContext(t.Context(), tt.spoil); err != nil {
					t.Fatal(err)
				}
				if err := errors.Join(db.Close(), s.Close()); err != nil {
					t.Fatal(err)
				}
			} else if err := os.WriteFile(path, []byte(tt.bytes), 0o600); err != nil {
				t.Fatal(err)
			}
			before, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			for _, o := range []store.Options{{Upstream: upstream}, {ReadOnly: true}} {
				_, err := store.Open(t.Context(), dir, o)
				if !errors.As(err, tt.as) || !strings.Contains(err.Error(), tt.says) || !strings.Contains(err.Error(), path) {
					t.Errorf("%+v: got %v, want a %T that says %q", o, err, tt.as, tt.says)
				}
			}
			if after, err := os.ReadFile(path); err != nil || string(after) != string(before) {
				t.Errorf("the file was changed (%v)", err)
			}
		})
	}
}

func TestAStoreRefusesAnotherUpstream(t *testing.T) {
	dir := t.TempDir()
	open(t, dir, &handClock{t: noon})
	_, err := store.Open(t.Context(), dir, store.Options{Upstream: "youtube.googleapis.com"})
	var foreign *store.UpstreamError
	if !errors.As(err, &foreign) || foreign.Have != upstream || foreign.Want != "youtube.googleapis.com" {
		t.Errorf("got %v", err)
	}
}

func TestAStoreWithoutAnUpstreamTakesTheFirst(t *testing.T) {
	dir := t.TempDir()
	for _, host := range []string{"", "one.example", "", "one.example"} {
		s, err := store.Open(t.Context(), dir, store.Options{Upstream: host})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := store.Open(t.Context(), dir, store.Options{Upstream: "two.example"}); err == nil {
		t.Error(`a store opened with upstream "two.example": got no error, want one`)
	}
}

func TestARefusedCreationLeavesNothing(t *testing.T) {
	t.Run("a file in the way", func(t *testing.T) {
		base := t.TempDir()
		if err := os.WriteFile(filepath.Join(base, "file"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := store.Open(t.Context(), filepath.Join(base, "file", "sub"), store.Options{Upstream: upstream}); err == nil {
			t.Error("a directory below a file: got no error, want one")
		}
		if _, err := store.Open(t.Context(), filepath.Join(base, "file"), store.Options{Upstream: upstream}); err == nil {
			t.Error("a file as the directory: got no error, want one")
		}
		wantEntries(t, base, "file")
	})
	t.Run("cancelled", func(t *testing.T) {
		base := t.TempDir()
		ctx, cancel := cancelled(t)
		defer cancel()
		if _, err := store.Open(ctx, filepath.Join(base, "a", "b"), store.Options{Upstream: upstream}); err == nil {
			t.Error("an open under a cancelled context: got no error, want one")
		}
		wantEntries(t, base)
	})
	t.Run("not writable", func(t *testing.T) {
		base := t.TempDir()
		if err := os.Chmod(base, 0o500); err != nil {
			t.Fatal(err)
		}
		if os.Geteuid() == 0 {
			base = "/sys" // where not even root may make a directory
			_, err := store.Open(t.Context(), filepath.Join(base, "a"), store.Options{Upstream: upstream})
			if err == nil || !strings.Contains(err.Error(), "writable") {
				t.Errorf("got %v", err)
			}
			return
		}
		_, err := store.Open(t.Context(), filepath.Join(base, "a"), store.Options{Upstream: upstream})
		if !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), "writable") {
			t.Errorf("got %v, want error %v and \"writable\" in it", err, fs.ErrPermission)
		}
		wantEntries(t, base)
	})
}

func wantEntries(t *testing.T, dir string, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	if strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("%s holds %q, want %q", dir, got, want)
	}
}

func TestManyMayCreateTheStoreAtOnce(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			s, err := store.Open(t.Context(), dir, store.Options{Upstream: upstream})
			if err != nil {
				t.Error(err)
				return
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	drafts, err := filepath.Glob(filepath.Join(dir, "*.new-*"))
	if err != nil || len(drafts) > 0 {
		t.Errorf("left behind: %v (%v), want none", drafts, err)
	}
}

func TestAFullDiskSaysWhichFileAndWhatToTry(t *testing.T) {
	s, _ := newStore(t)
	addDue(t, s, due("US", noon))
	slot := claim(t, s, by("a", noon))
	slot.Pages = 1
	s.LimitPages(t, 1)
	_, err := s.SavePage(t.Context(), slot, page(titled("a", strings.Repeat("long ", 1e5))))
	if err == nil || !strings.Contains(err.Error(), s.Path()) || !strings.Contains(err.Error(), "no room on the disk of") {
		t.Errorf("got %v", err)
	}
	if got := search(t, s, store.SearchQuery{Text: "long"}); len(got) != 0 {
		t.Errorf("half a page is visible: %v, want none", got)
	}
}
