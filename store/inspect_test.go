package store_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/internal/sqlitefile"
	"github.com/trendvidstream/ingest/store"
)

func TestInspectReadsAStoreOfAnyVersionAndLeavesItAlone(t *testing.T) {
	for version, fixture := range map[int]string{1: "v1.sql", 2: "v2.sql"} {
		dir := old(t, fixture)
		before := contents(t, dir)
		s, err := store.Inspect(t.Context(), dir)
		want := store.Summary{
			Path: filepath.Join(dir, store.FileName), Version: version, Upstream: upstream, Videos: 6, DoneAt: s.DoneAt,
		}
		if err != nil || s != want || s.DoneAt.Before(noon.Add(-72*time.Hour)) {
			t.Errorf("%s: %+v, %v, want %+v", fixture, s, err, want)
		}
		slots, err := store.InspectSlots(t.Context(), dir, time.Unix(0, 0), time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC))
		if err != nil {
			t.Fatal(err)
		}
		if len(slots.Claimed) != 1 || slots.Claimed[0].Key != "FR" || len(slots.Failed) != 1 || slots.Failed[0].Reason != "HTTP 500" {
			t.Errorf("%s: claimed %+v, failed %+v", fixture, slots.Claimed, slots.Failed)
		}
		in := slots.Series[ingest.Series{Job: "chart", Key: "IN"}]
		us := slots.Series[ingest.Series{Job: "chart", Key: "US"}]
		if in.State != ingest.Done || in.DoneDue.IsZero() || us.State != ingest.Stopped || us.Reason == "" || !us.DoneDue.IsZero() {
			t.Errorf("%s: IN %+v, US %+v", fixture, in, us)
		}
		if _, err := store.CheckFile(t.Context(), dir, 0); err != nil {
			t.Errorf("%s: %v", fixture, err)
		}
		if after := contents(t, dir); !slices.Equal(after, before) {
			t.Errorf("%s: it lay beside %v, and lies beside %v", fixture, before, after)
		}
		spent, err := open(t, dir, &handClock{t: noon}).SpentSlots(t.Context(), time.Unix(0, 0))
		if err != nil || len(spent) < 4 || !reflect.DeepEqual(spent, slots.Spent) {
			t.Errorf("%s: the doctor and a run differ in what was spent (%v):\n%+v\n%+v", fixture, err, slots.Spent, spent)
		}
	}
}

// contents returns the files in a directory with their sizes.
func contents(t *testing.T, dir string) (list []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, info.Name()+info.ModTime().String())
	}
	return list
}

func TestInspectRefusesWhatOpenRefuses(t *testing.T) {
	if s, err := store.Inspect(t.Context(), t.TempDir()); !errors.Is(err, fs.ErrNotExist) || s.Path == "" {
		t.Errorf("none there: %+v, %v", s, err)
	}
	for change, want := range map[string]any{
		`PRAGMA application_id = 7`: new(*store.ApplicationError), `PRAGMA user_version = 99`: new(*store.VersionError),
	} {
		dir := old(t, "v2.sql")
		db := raw(t, filepath.Join(dir, store.FileName))
		if _, err := db.ExecContext(t.Context(), change); err != nil {
			t.Fatal(err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := store.Inspect(t.Context(), dir); !errors.As(err, want) {
			t.Errorf("%s: %v", change, err)
		}
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, store.FileName), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Inspect(t.Context(), dir); !errors.Is(err, store.ErrEmpty) {
		t.Errorf("an empty file: %v", err)
	}
}

// The pages of a killed run are in a log that only a writer may fold in.
func TestInspectDoesNotRecoverWhatACrashLeft(t *testing.T) {
	from, dir := t.TempDir(), t.TempDir()
	s := open(t, from, &handClock{t: noon})
	addDue(t, s, due("US", noon))
	if err := sqlitefile.Copy(s.Path(), filepath.Join(dir, store.FileName)); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Inspect(t.Context(), dir); !errors.Is(err, sqlitefile.ErrLeftover) {
		t.Errorf("%v, want %v", err, sqlitefile.ErrLeftover)
	}
}
