package main_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/trendvidstream/ingest/internal/youtubesim"
	"github.com/trendvidstream/ingest/store"
)

// A refresh asks about regions: its spends must not be looked for under their charts.
func TestARefreshsSpendsCloseNoGate(t *testing.T) {
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

// Spends from before quota.db and the store's slots were lost together never count as nothing: no call is made until
// a person posts the amount, or the provider's day turns.
func TestLongUncountableSpendsDoNotCountAsNothing(t *testing.T) {
	for name, lose := range map[string]func(t *testing.T){
		"the store is damaged": func(t *testing.T) { t.Helper(); spoil(t, "ingest.db") },
		"and the lock is gone": func(t *testing.T) {
			t.Helper()
			spoil(t, "ingest.db")
			_ = os.Remove(filepath.Join(os.Getenv("INGEST_DATA"), "quota.lock"))
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
			if out, _ := ingestCode(t, exitUnavailable, "doctor", "--repair"); !strings.Contains(out, "quota rebuild") ||
				!strings.Contains(strings.Join(strings.Fields(out), " "), "the spends are not known, and nothing is fetched") {
				t.Errorf("doctor --repair:\n%s", out)
			}
			spent := sim.Ledger().Units["units"]
			ingestCode(t, exitUnavailable, "run")
			ingestCode(t, exitUnavailable, "quota")
			_, says := ingestCode(t, exitUnavailable, "quota", "rebuild")
			for _, want := range []string{"the other spends are not known", "quota post"} {
				if !strings.Contains(says, want) {
					t.Errorf("%q is missing from %q", want, says)
				}
			}
			ingestCode(t, exitStopped, "run", "--region", "US")
			if out, _ := ingestCode(t, exitOK, "quota"); !strings.Contains(out, "the number of units spent is unknown") {
				t.Errorf("quota:\n%s", out)
			}
			if now := sim.Ledger().Units["units"]; now != spent {
				t.Errorf("%d units arrived, after %d", now, spent)
			}
			at(t, "2026-02-15T08:40:00Z") // after midnight, and before a day has passed
			ingestCode(t, exitStopped, "run", "--region", "US")
			at(t, "2026-02-15T09:41:00Z")
			ingestCode(t, exitOK, "run", "--region", "US")
		})
	}
}

// A rebuild does not forget spends without a slot (a gateway's calls, takes and posts by hand): it counts them as far
// as any file shows them, and where none does, no call is made.
func TestLongARebuildForgetsNobodysCalls(t *testing.T) {
	remove := func(t *testing.T, names ...string) {
		t.Helper()
		for _, name := range names {
			if err := os.Remove(filepath.Join(os.Getenv("INGEST_DATA"), name)); err != nil && !os.IsNotExist(err) {
				t.Fatal(err)
			}
		}
	}
	damage := func(t *testing.T, change func([]byte) []byte) {
		t.Helper()
		path := filepath.Join(os.Getenv("INGEST_DATA"), ledgerFile)
		data, err := os.ReadFile(path)
		if err == nil {
			err = os.WriteFile(path, change(data), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name     string
		lose     func(t *testing.T)
		replaces bool
		used     int64 // that the new ledger counts, at least
		closed   bool
	}{
		{"the file is lost", func(t *testing.T) { t.Helper(); remove(t, "quota.db", "quota.db-wal", "quota.db-shm") }, false, 4, true},
		{"and its lock", func(t *testing.T) {
			t.Helper()
			remove(t, "quota.db", "quota.db-wal", "quota.db-shm", "quota.lock")
		}, false, 4, true},
		{"its header is damaged", func(t *testing.T) {
			t.Helper()
			damage(t, func(data []byte) []byte { clear(data[:100]); return data })
		}, true, 904, false},
		{"it is cut", func(t *testing.T) {
			t.Helper()
			damage(t, func(data []byte) []byte { return data[:len(data)/2] })
		}, true, 4, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			standIn(t, youtubesim.Options{})
			at(t, "2026-02-14T09:40:00Z")
			ingestCode(t, exitOK, "run", "--region", "US")
			ingestCode(t, exitOK, "quota", "post", "units", "900") // the ledger knows a gateway's calls as little from slots
			c.lose(t)
			args, want := []string{"quota", "rebuild", "--json"}, exitOK
			if c.replaces {
				args = append(args, "--replace")
			}
			if c.closed {
				want = exitUnavailable
			}
			doc := ingestJSON[quotaDocument](t, want, args...)
			for _, p := range doc.Pools {
				if p.Pool == "units" && (p.Windows[0].Used < c.used || (p.DrainedBy == "unknown") != c.closed) {
					t.Errorf("%d used, want %d; closed by %q", p.Windows[0].Used, c.used, p.DrainedBy)
				}
			}
			if !c.closed {
				ingestCode(t, exitOK, "run", "--region", "GB")
				return
			}
			ingestCode(t, exitStopped, "run", "--region", "GB")
			ingestCode(t, exitStopped, "quota", "take", "videos.list")
			ingestCode(t, exitUsage, "quota", "drain", "units", "--lift")
			ingestCode(t, exitOK, "quota", "post", "units", "904") // the console's figure
			if doc := ingestJSON[quotaDocument](t, exitOK, "quota"); doc.Pools[len(doc.Pools)-1].Windows[0].Used != 904 {
				t.Errorf("after the post: %+v, want Used 904", doc.Pools[len(doc.Pools)-1].Windows)
			}
			ingestCode(t, exitOK, "run", "--region", "GB")
		})
	}
}

// A directory where only a gateway spent has no slots: the store's count of its calls says that there was a ledger.
func TestAGatewaysLostLedgerIsNotTakenForANewOne(t *testing.T) {
	standIn(t, youtubesim.Options{})
	at(t, "2026-02-14T09:40:00Z")
	ingestCode(t, exitOK, "quota", "post", "units", "9000")
	s, err := store.Open(t.Context(), os.Getenv("INGEST_DATA"), store.Options{Upstream: "localhost", Now: func() time.Time { return time.Date(2026, 2, 14, 9, 40, 0, 0, time.UTC) }})
	if err != nil {
		t.Fatal(err)
	}
	calls := store.NewCallCounter(s)
	calls.Observe("videos.list", "ok", time.Second)
	calls.SaveLast()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	files, _ := filepath.Glob(filepath.Join(os.Getenv("INGEST_DATA"), ledgerFile+"*"))
	for _, file := range files {
		_ = os.Remove(file)
	}
	_, says := ingestCode(t, exitUnavailable, "quota", "take", "videos.list")
	if !strings.Contains(says, "the store shows calls since 2026-02-13 07:40:00Z") {
		t.Error(says)
	}
	ingestCode(t, exitUnavailable, "quota", "rebuild")
	ingestCode(t, exitStopped, "quota", "take", "videos.list")
	at(t, "2026-02-16T09:40:00Z") // two days later nothing of it can count
	ingestCode(t, exitOK, "quota", "take", "videos.list")
}

// A clock that was a day or more ahead has deleted its takes as old: once it is right, a repair counts them again,
// and others' spends, which no slot shows, close the pools.
func TestLongSpendsThatAFastClockForgotAreCountedAgain(t *testing.T) {
	for _, others := range []bool{false, true} {
		sim := standIn(t, youtubesim.Options{})
		at(t, "2026-02-14T09:40:00Z")
		ingestCode(t, exitOK, "run")
		at(t, "2026-02-14T10:10:00Z")
		ingestCode(t, exitOK, "run")
		if others {
			ingestCode(t, exitOK, "quota", "take", "videos.list")
		}
		before := sim.Ledger().Units["units"]
		for _, ahead := range []string{"2026-02-16T20:00:00Z", "2026-02-16T20:30:00Z", "2026-02-16T21:00:00Z", "2026-02-16T21:30:00Z"} {
			at(t, ahead)
			ingestCode(t, exitOK, "run")
		}
		at(t, "2026-02-14T10:50:00Z")
		out, _ := ingestCode(t, exitOK, "doctor", "--repair", "--all")
		if !strings.Contains(strings.Join(strings.Fields(out), " "), "which the ledger forgot under that clock") {
			t.Errorf("doctor --repair:\n%s", out)
		}
		doc := ingestJSON[quotaDocument](t, exitOK, "quota")
		units := doc.Pools[len(doc.Pools)-1]
		if units.Windows[0].Used < sim.Ledger().Units["units"] || units.Windows[0].Used <= before {
			t.Errorf("%d are counted, %d arrived", units.Windows[0].Used, sim.Ledger().Units["units"])
		}
		if closed := units.DrainedBy == "unknown"; closed != others {
			t.Errorf("others spent: %v, closed: %v", others, closed)
		}
		if !others {
			ingestCode(t, exitOK, "run")
		}
	}
}
