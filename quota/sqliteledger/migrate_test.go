package sqliteledger_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/trendvidstream/ingest/quota/sharedledger"
)

// A file of the first version becomes one of this version when it is opened, and keeps all that was in it.
func TestAReleasedFileBecomesANewOneAndKeepsEveryRow(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("testdata", "v1.sql"))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "quota.db")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	execute(t, path, string(text))
	for range 2 { // the second finds it done
		l := open(t, path)
		s, err := l.State(t.Context(), "default")
		if err != nil || s.HostID != "744303cf6b6f62f6cb201a48" || s.Generation != 77 || s.Breaker.Failures != 2 || len(s.Snapshots) != 1 || len(s.Hosts) != 0 ||
			!s.Owed || len(s.Asked) != 1 || s.Synced.ID != 4 {
			t.Errorf("%+v %v", s, err)
		}
		rows, err := l.Rows(t.Context(), "default", time.Time{}, false)
		var states []sharedledger.RowState
		for _, r := range rows {
			states = append(states, r.State)
			if len(r.Syncs) != 0 {
				t.Errorf("what was synced of %+v is not known", r)
			}
		}
		if want := []sharedledger.RowState{sharedledger.RowAsked, sharedledger.RowCharged, sharedledger.RowOwed, sharedledger.RowSynced}; err != nil || !slices.Equal(states, want) {
			t.Errorf("rows %v %v, want %v", states, err, want)
		}
		spent, err := l.Spent(t.Context(), "default", time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC))
		if err != nil || len(spent) != 1 || spent[0].Amount != 28 {
			t.Errorf("spent %v %v", spent, err)
		}
	}
	l := open(t, path)
	at := time.Date(2026, 3, 3, 13, 0, 0, 0, time.UTC)
	err = l.Note(t.Context(), "default", sharedledger.Notes{Generation: 78, Hosts: []string{"a"}, Verdicts: []sharedledger.Verdict{{ID: 2, State: sharedledger.RowSynced, Synced: at, Until: 77}}})
	if err != nil {
		t.Fatal(err)
	}
	rows, err := l.Rows(t.Context(), "default", time.Time{}, false)
	if want := []sharedledger.Sync{{Until: 77}, {Since: at}}; err != nil || !slices.EqualFunc(rows[1].Syncs, want, func(a, b sharedledger.Sync) bool {
		return a.Until == b.Until && a.Since.Equal(b.Since)
	}) {
		t.Errorf("%+v %v", rows, err)
	}
}
