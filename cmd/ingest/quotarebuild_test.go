package main_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/trendvidstream/ingest/internal/youtubesim"
)

// A refresh asks about regions: its spends must not be looked for under their charts.
func TestWhatARefreshSpendsClosesNoGate(t *testing.T) {
	standIn(t, youtubesim.Options{})
	for _, now := range []string{"2026-02-14T09:40:00Z", "2026-02-15T09:40:00Z", "2026-02-15T10:40:00Z"} {
		at(t, now)
		ingestCode(t, exitOK, "run")
	}
	doc := ingestJSON[struct {
		Spent []struct {
			Method string
			Amount int64
		}
	}](t, exitOK, "quota")
	named := int64(0)
	for _, s := range doc.Spent {
		if s.Method == "videoCategories.list" {
			named += s.Amount
		}
	}
	if named != 8 {
		t.Errorf("%d units for the names of categories, want 8", named)
	}
}

// What was spent before quota.db and the store's slots were lost together is never taken for nothing: no call is made
// until a person says what it was, or the provider's day turns.
func TestWhatCannotBeCountedIsNotTakenForNothing(t *testing.T) {
	for name, lose := range map[string]func(t *testing.T){
		"the store is damaged": func(t *testing.T) { t.Helper(); spoil(t, "ingest.db") },
		"and the lock is gone": func(t *testing.T) {
			t.Helper()
			spoil(t, "ingest.db")
			_ = os.Remove(filepath.Join(os.Getenv("INGEST_DATA"), ledgerFile+".lock"))
		},
		"the store is moved away": func(t *testing.T) {
			t.Helper()
			files, _ := filepath.Glob(filepath.Join(os.Getenv("INGEST_DATA"), "ingest.db*"))
			for _, file := range files {
				_ = os.Remove(file)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			sim := standIn(t, youtubesim.Options{})
			at(t, "2026-02-14T09:40:00Z")
			ingestCode(t, exitOK, "run") // a first start
			loseLedger()
			lose(t)
			if out, _ := ingestCode(t, exitUnavailable, "doctor", "--repair"); !strings.Contains(out, "quota rebuild") || !strings.Contains(out, "what was") {
				t.Errorf("doctor --repair:\n%s", out)
			}
			spent := sim.Ledger().Units["units"]
			ingestCode(t, exitUnavailable, "run")
			ingestCode(t, exitUnavailable, "quota")
			_, says := ingestCode(t, exitUnavailable, "quota", "rebuild")
			for _, want := range []string{"in the last day is not known", "quota post", "midnight"} {
				if !strings.Contains(says, want) {
					t.Errorf("%q is missing from %q", want, says)
				}
			}
			ingestCode(t, exitStopped, "run", "--region", "US")
			if out, _ := ingestCode(t, exitOK, "quota"); !strings.Contains(out, "Closed by hand until") {
				t.Errorf("quota:\n%s", out)
			}
			if now := sim.Ledger().Units["units"]; now != spent {
				t.Errorf("%d units arrived, after %d", now, spent)
			}
			at(t, "2026-02-15T08:40:00Z")
			ingestCode(t, exitOK, "run", "--region", "US")
		})
	}
}
