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

func TestInspectReadsAStoreAndLeavesItAlone(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, &handClock{t: noon})
	chart(t, s, "IN", noon, page(titled("a", "Apfel"), titled("b", "Birne")))
	for region, state := range map[string]ingest.State{"US": ingest.Stopped, "GB": ingest.Failed} {
		addDue(t, s, due(region, noon))
		slot := claim(t, s, by("run", noon))
		slot.Charge(map[string]int64{"units": 1}, false)
		finish(t, s, slot, state, "HTTP 500")
	}
	addDue(t, s, due("FR", noon))
	claim(t, s, by("run", noon))
	spent, err := s.SpentSlots(t.Context(), time.Unix(0, 0))
	if err := errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
	before := contents(t, dir)
	var slots store.SlotSummary
	err = store.Inspect(t.Context(), dir, func(s *store.Store) error {
		of, err := s.Summary(t.Context())
		want := store.Summary{Version: store.SchemaVersion(), Upstream: upstream, Videos: 2, DoneAt: noon}
		if err != nil || of != want {
			t.Errorf("%+v, %v, want %+v", of, err, want)
		}
		if found, err := s.Check(t.Context(), 0); err != nil || len(found) > 0 {
			t.Errorf("%q, %v, want none", found, err)
		}
		slots, err = s.SlotSummary(t.Context(), time.Unix(0, 0), time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(slots.Claimed) != 1 || slots.Claimed[0].Key != "FR" || len(slots.Failed) != 1 || slots.Failed[0].Reason != "HTTP 500" {
		t.Errorf("claimed %+v, failed %+v", slots.Claimed, slots.Failed)
	}
	india, states, latest := ingest.Series{Job: "chart", Key: "IN"}, ingest.Series{Job: "chart", Key: "US"}, slots.Latest
	if ended := latest.Ended[india]; ended.State != ingest.Done || latest.Done[india].DueAt.IsZero() {
		t.Errorf("IN: got %+v, want done", ended)
	}
	if ended := latest.Ended[states]; ended.State != ingest.Stopped || ended.Reason == "" || !latest.Done[states].DueAt.IsZero() {
		t.Errorf("US: got %+v, done %v, want stopped with a reason, never done", ended, latest.Done[states].DueAt)
	}
	if after := contents(t, dir); !slices.Equal(after, before) {
		t.Errorf("it lay beside %v, and lies beside %v", before, after)
	}
	if len(spent) != 3 || !reflect.DeepEqual(spent, slots.Spent) {
		t.Errorf("the doctor and a run differ in what was spent:\n%+v\n%+v", slots.Spent, spent)
	}
}

// inspect sums the store in a directory up.
func inspect(t *testing.T, dir string) error {
	t.Helper()
	return store.Inspect(t.Context(), dir, func(s *store.Store) error {
		_, err := s.Summary(t.Context())
		return err
	})
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

func TestInspectAndOpenRefuseTheSameFiles(t *testing.T) {
	if err := inspect(t, t.TempDir()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("none there: %v, want error %v", err, fs.ErrNotExist)
	}
	for change, want := range map[string]any{
		`PRAGMA application_id = 7`: new(*store.ApplicationError), `PRAGMA user_version = 99`: new(*store.VersionError),
	} {
		dir := ofThisVersion(t)
		db := raw(t, filepath.Join(dir, store.FileName))
		if _, err := db.ExecContext(t.Context(), change); err != nil {
			t.Fatal(err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		if err := inspect(t, dir); !errors.As(err, want) {
			t.Errorf("%s: %v", change, err)
		}
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, store.FileName), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := inspect(t, dir); !errors.Is(err, store.ErrEmpty) {
		t.Errorf("an empty file: %v, want error %v", err, store.ErrEmpty)
	}
}

// The pages of a killed run are in a log that only a writer may fold in.
func TestInspectDoesNotRecoverACrashsLeftovers(t *testing.T) {
	from, dir := t.TempDir(), t.TempDir()
	s := open(t, from, &handClock{t: noon})
	addDue(t, s, due("US", noon))
	f, err := os.Open(s.Path())
	if err == nil {
		err = errors.Join(sqlitefile.Copy(f, filepath.Join(dir, store.FileName)), f.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := inspect(t, dir); !errors.Is(err, sqlitefile.ErrLeftover) {
		t.Errorf("%v, want %v", err, sqlitefile.ErrLeftover)
	}
}
