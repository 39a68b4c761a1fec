package main_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/trendvidstream/ingest/internal/doctor"
	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/sharedledger"
	"github.com/trendvidstream/ingest/quota/sqliteledger"
	"github.com/trendvidstream/ingest/store"
)

// brokenWorlds are ways to break a world, each with the line that reports it. Args are given to doctor.
var brokenWorlds = []struct {
	name   string
	broken func(w *ward) (args []string)
	check  string
	status doctor.Status
	exit   int
	detail string
	advice string
}{
	{"INGEST_NOW is no time", func(w *ward) []string { w.Setenv("INGEST_NOW", "noon"); return nil },
		"clock", doctor.Fail, exitConfig, `INGEST_NOW="noon"`, "unset"},
	{"a moved clock beside a Redis", func(w *ward) []string {
		w.Setenv("INGEST_NOW", "2026-11-21T10:00:00Z")
		return []string{"--ledger", "redis://127.0.0.1:1/0"}
	}, "clock", doctor.Fail, exitConfig, "spends real quota", "unset"},
	{"a moved clock in a trial", func(w *ward) []string { w.Setenv("INGEST_NOW", time.Now().UTC().Format(time.RFC3339)); return nil },
		"clock", doctor.Warn, exitOK, "INGEST_NOW has moved it", "unset"},
	{"an unknown field", func(w *ward) []string { return []string{"--config", w.write("c.yaml", "acount: x\n", 0o600)} },
		"config", doctor.Fail, exitConfig, `c.yaml:1: unknown field "acount": did you mean "account"`, "correct it"},
	{"no such config", func(*ward) []string { return []string{"--config", "/nowhere/c.yaml"} },
		"config", doctor.Fail, exitConfig, "/nowhere/c.yaml", "correct it"},
	{"a ledger that is none", func(*ward) []string { return []string{"--ledger", "redi://x"} },
		"config", doctor.Fail, exitConfig, "redis://", "correct it"},
	{"no hosts", func(w *ward) []string { return []string{"--config", w.write("c.yaml", "hosts: 0\n", 0o600)} },
		"config", doctor.Fail, exitConfig, "hosts: 0", "correct it"},
	{"an upstream in clear", func(*ward) []string {
		return []string{"--upstream-url", "http://example.com/", "--key-file", os.DevNull}
	},
		"config", doctor.Fail, exitConfig, "in clear", "correct it"},
	{"an account that is none", func(w *ward) []string { w.Setenv("INGEST_ACCOUNT", "a b"); return nil },
		"config", doctor.Fail, exitConfig, "account", "correct it"},
	{"costs that are none", func(w *ward) []string { return []string{"--costs", w.write("k.yaml", "version: 9\n", 0o600)} },
		"costs", doctor.Fail, exitConfig, "k.yaml:1: version 9", "correct the costs"},
	{"too much of a schedule", func(w *ward) []string {
		return []string{"--config", w.write("c.yaml", "jobs: [{name: chart, kind: chart, every: 1m}]\n", 0o600)}
	}, "schedule", doctor.Warn, exitOK, "chart: 46,080 units a day of 9,500 (485 %)", "fetch less often"},
	{"no key", func(w *ward) []string {
		w.remove("")
		return []string{"--upstream-url", "https://youtube.googleapis.com/"}
	},
		"key", doctor.Fail, exitKey, "none", "--key-file"},
	{"a key for everybody", func(w *ward) []string { return []string{"--key-file", w.write("key", "AIza-secret", 0o644)} },
		"key", doctor.Fail, exitKey, "can be read by everybody", "0600"},
	{"no data directory", func(w *ward) []string { w.remove(""); return nil },
		"data", doctor.Warn, exitOK, "is not there yet", "ingest run makes it"},
	{"nowhere to make one", func(w *ward) []string { return []string{"--data", filepath.Join(w.write("data", "x", 0o600), "data")} },
		"data", doctor.Fail, exitConfig, "not a directory", "another --data"},
	{"a file for a data directory", func(w *ward) []string { return []string{"--data", w.write("data", "x", 0o600)} },
		"data", doctor.Fail, exitConfig, "is a file", "another --data"},
	{"a data directory for everybody", func(w *ward) []string { _ = os.Chmod(w.data, 0o755); return nil },
		"data", doctor.Warn, exitOK, "mode 0755", "chmod 700"},
	{"a lock that cannot be written", func(w *ward) []string {
		w.remove("quota.lock")
		_ = os.Mkdir(filepath.Join(w.data, "quota.lock"), 0o700)
		return nil
	}, "data", doctor.Fail, exitConfig, "quota.lock is no regular file", "remove it"},
	{"no store", func(w *ward) []string { w.remove(""); return nil },
		"store", doctor.Warn, exitOK, "is not there yet", "ingest run"},
	{"a lost store", func(w *ward) []string { w.remove("ingest.db", "ingest.db-wal", "ingest.db-shm"); return nil },
		"store", doctor.Fail, exitConfig, "quota.db knows of 8 units that were spent on it since", "ingest run --accept-new-store"},
	{"another upstream's store", func(w *ward) []string {
		return []string{"--upstream-url", "https://youtube.googleapis.com/", "--key-file", w.write("key", "k", 0o600)}
	}, "store", doctor.Fail, exitConfig, "data of localhost", "or the --upstream-url that this data is from"},
	{"a store of a newer program", func(w *ward) []string { w.change("ingest.db", "PRAGMA user_version = 99"); return nil },
		"store", doctor.Fail, exitConfig, "version 99", "use the newer program, or restore a backup"},
	{"another program's database", func(w *ward) []string { w.change("ingest.db", "PRAGMA application_id = 7"); return nil },
		"store", doctor.Fail, exitError, "not a store of ingest", "move"},
	{"a store that is no database", func(w *ward) []string {
		w.remove("ingest.db-wal", "ingest.db-shm")
		_ = os.WriteFile(filepath.Join(w.data, "ingest.db"), []byte(strings.Repeat("no database ", 99)), 0o600)
		return nil
	}, "store", doctor.Fail, exitError, "cannot be read", "if it is damaged, ingest doctor --repair"},
	{"a store without its -shm", func(w *ward) []string {
		_ = os.WriteFile(filepath.Join(w.data, "ingest.db-wal"), []byte("left by a crash"), 0o600)
		return nil
	}, "store", doctor.Warn, exitOK, "as after a crash", "ingest run recovers the file"},
	{"a store that fetched nothing", func(w *ward) []string {
		w.change("ingest.db", "UPDATE slots SET state = 'stopped', reason = 'units: 9,500 of 9,500 used', fetched_at = NULL")
		return nil
	}, "store", doctor.Warn, exitOK, "no slot is done yet", "ingest run"},
	{"a damaged store", func(w *ward) []string { w.damage("ingest.db"); return nil },
		"ingest.db", doctor.Fail, exitError, "", "ingest doctor --repair"},
	{"a region that was stopped", func(w *ward) []string {
		w.change("ingest.db", "UPDATE slots SET state = 'stopped', reason = 'units: 9,500 of 9,500 used; try at noon' WHERE series = (SELECT id FROM series WHERE key = 'US')")
		return nil
	}, "freshness", doctor.Warn, exitOK, "US is stale; chart US (never done", "ingest slots"},
	{"nothing ran since yesterday", func(w *ward) []string {
		w.change("ingest.db", "UPDATE slots SET due_at = due_at - 86400, fetched_at = fetched_at - 86400000 WHERE kind = 'chart'; UPDATE series SET newest = newest - 86400, open = open - 86400, fresh_at = fresh_at - 86400000 WHERE job = 'chart'")
		return nil
	}, "freshness", doctor.Warn, exitOK, "all 8 charts are stale", "is a timer, cron or serve running"},
	{"a claim that is stuck", func(w *ward) []string {
		w.change("ingest.db", "UPDATE slots SET state = 'claimed', owner = 'elsewhere/1/x', lease = 1000 * (unixepoch() - 7200) WHERE series = (SELECT id FROM series WHERE key = 'DE')")
		return nil
	}, "slots", doctor.Warn, exitOK, "claimed by elsewhere/1/x, its lease has been over for 2 h", "takes such a slot over"},
	{"a slot that failed", func(w *ward) []string {
		w.change("ingest.db", "UPDATE slots SET state = 'failed', reason = char(27) || '[31mHTTP 500' WHERE series = (SELECT id FROM series WHERE key = 'FR')")
		return nil
	}, "slots", doctor.Warn, exitOK, "1 failed in the last day; chart FR of ", "--outcome failed"},
	{"a damaged ledger", func(w *ward) []string { w.damage("quota.db"); return nil },
		"quota.db", doctor.Fail, exitUnavailable, "", "ingest quota rebuild"}, // "damaged" or "malformed", by the page,
	{"a ledger that is no database", func(w *ward) []string {
		_ = os.WriteFile(filepath.Join(w.data, "quota.db"), []byte(strings.Repeat("no database ", 99)), 0o600)
		return nil
	}, "quota.db", doctor.Fail, exitUnavailable, "not a database", "ingest quota rebuild --replace"},
	{"a ledger of the future", func(w *ward) []string {
		w.change("quota.db", "UPDATE entries SET at = at + 3600000000")
		return nil
	}, "ledger", doctor.Fail, exitUnavailable, "clock", "if it was ahead and is right now, ingest doctor --repair"},
	{"an older copy of the ledger", func(w *ward) []string {
		old, err := os.ReadFile(filepath.Join(w.data, "quota.db"))
		ingestCode(w.T, exitOK, "quota", "take", "videos.list")
		if err != nil || os.WriteFile(filepath.Join(w.data, "quota.db"), old, 0o600) != nil {
			w.Fatal("no copy", err)
		}
		return nil
	}, "ledger", doctor.Fail, exitUnavailable, "an older copy", "ingest quota rebuild --replace"},
	{"a pool that the upstream closed", func(w *ward) []string {
		ingestCode(w.T, exitOK, "quota", "post", "units", "6804")
		w.journal(func(ctx context.Context, l *sqliteledger.Ledger) error {
			return l.Drain(ctx, "default", "units", quota.Drain{Until: time.Now().Add(time.Hour), Used: 6812})
		})
		return nil
	}, "pools", doctor.Warn, exitOK, "units: the provider refused: closed until ", "stopped at 6,812 of 10,000: another program spends from it, or its limit has changed: set it to 6,800"},
	{"a pool that a person closed", func(w *ward) []string {
		ingestCode(w.T, exitOK, "quota", "drain", "units")
		return nil
	}, "pools", doctor.Warn, exitOK, "units: closed by hand at ", "ingest quota drain units --lift"},
	{"a ledger that is lost", func(w *ward) []string { w.remove("quota.db", "quota.db-wal", "quota.db-shm"); return nil },
		"lost", doctor.Fail, exitUnavailable, "is missing, and the store shows calls since", "ingest quota rebuild"},
	{"a ledger that did not answer", func(w *ward) []string {
		w.journal(func(ctx context.Context, l *sqliteledger.Ledger) error {
			return l.Note(ctx, "default", sharedledger.Notes{Now: time.Now(), Breaker: &sharedledger.Breaker{Until: time.Now().Add(time.Hour), Failures: 3, Why: "i/o timeout"}})
		})
		return nil
	}, "degraded", doctor.Warn, exitOK, "the ledger is not asked before", "bring the ledger back"},
	{"calls that are owed", func(w *ward) []string {
		w.journal(func(ctx context.Context, l *sqliteledger.Ledger) error {
			row := sharedledger.Row{Account: "default", Writer: "W", Number: 1, Nonce: 1, At: time.Now(), State: sharedledger.RowOwed,
				Who: quota.Who{Purpose: quota.Scheduled, Method: "videos.list"}, Amounts: quota.Cost{"units": 1}}
			_, _, err := l.Begin(ctx, row, sharedledger.Notes{})
			return err
		})
		return nil
	}, "degraded", doctor.Warn, exitOK, "1 call went on without it, still to be posted: 1 unit", "bring the ledger back"},
	{"a second data directory", func(w *ward) []string {
		ingestCode(w.T, exitOK, "quota", "take", "videos.list", "--data", filepath.Join(os.Getenv("XDG_STATE_HOME"), "ingest"))
		return nil
	}, "directories", doctor.Warn, exitOK, "is spent from 2 data directories, each allows the whole limit", "use one --data"},
	{"a Redis in place of the ledger", func(*ward) []string { return []string{"--ledger", "redis://127.0.0.1:1/0"} },
		"lost", "", exitUnavailable, "", ""}, // it cannot be asked
	{"hosts without a ledger for them", func(w *ward) []string { return []string{"--config", w.write("c.yaml", "hosts: 3\n", 0o600)} },
		"hosts", doctor.Warn, exitOK, "hosts: is 3, but the ledger is quota.db", "set hosts: 1"},
	{"a Redis that is not there", func(*ward) []string { return []string{"--ledger", "redis://127.0.0.1:1/0"} },
		"redis", doctor.Fail, exitUnavailable, "connection refused", "redis-cli"},
	{"a password in clear", func(*ward) []string { return []string{"--ledger", "redis://:hunter2@192.0.2.1:1/0"} },
		"redis url", doctor.Warn, exitUnavailable, "the password may go to 192.0.2.1 in clear", "rediss://"},
}

// Every line is seen red once; the unbroken parts are still checked, and nothing is changed.
func TestLongTheDoctorSeesBrokenParts(t *testing.T) {
	well := newWard(t)
	for _, tt := range brokenWorlds {
		t.Run(tt.name, func(t *testing.T) {
			w := well.another(t)
			args := tt.broken(w)
			before := listing(t, w.data, filepath.Dir(w.data))
			doc := ingestJSON[doctorDocument](t, tt.exit, append([]string{"doctor"}, args...)...)
			got := doc.find(tt.check)
			if got.Status != tt.status || !strings.Contains(got.Detail, tt.detail) || !strings.Contains(got.Advice, tt.advice) {
				t.Errorf("%s is %+v, want %s, %q, advice %q", tt.check, got, tt.status, tt.detail, tt.advice)
			}
			if strings.ContainsRune(fmt.Sprint(doc), 0x1b) || strings.Contains(fmt.Sprint(doc), "hunter2") {
				t.Errorf("something that must not be seen: %q", fmt.Sprint(doc))
			}
			for _, check := range []string{"version", "environment", "clock", "config", "costs", "key", "disk", "filesystem"} {
				if doc.find(check).Status == "" {
					t.Errorf("%s was not looked at", check)
				}
			}
			if after := listing(t, w.data, filepath.Dir(w.data)); !slices.Equal(before, after) {
				t.Errorf("it changed something:\nbefore %v\nafter  %v", before, after)
			}
		})
	}
}

// While another process has the databases open, they are read as they are, -wal and all.
func TestTheDoctorReadsTheUsedFiles(t *testing.T) {
	w := newWard(t)
	s, err := store.Open(t.Context(), w.data, store.Options{Upstream: "localhost"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	w.journal(func(ctx context.Context, _ *sqliteledger.Ledger) error {
		time.Sleep(time.Until(time.Now().Truncate(time.Second).Add(time.Second))) // a slot that is due in this second is done
		ingestCode(t, exitOK, "run", "--force", "--region", "US", "--pages", "1")
		before := listing(t, w.data)
		doc := ingestJSON[doctorDocument](t, exitOK, "doctor")
		if after := listing(t, w.data); !slices.Equal(before, after) {
			t.Errorf("it changed something:\nbefore %v\nafter  %v", before, after)
		}
		for _, check := range []string{"store", "ingest.db", "freshness", "slots", "quota.db", "ledger", "pools"} {
			if doc.find(check).Status != doctor.OK {
				t.Errorf("%s: %+v, want %v", check, doc.find(check), doctor.OK)
			}
		}
		if got := doc.find("pools").Detail; !strings.Contains(got, "units: 9 of 10,000 used") {
			t.Errorf("what is in the -wal was not read: %s", got)
		}
		return nil
	})
}
