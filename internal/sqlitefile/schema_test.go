package sqlitefile_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/trendvidstream/ingest/internal/sqlitefile"
)

// A file of version 1 that takes every step has the tables of a new file, its rows, and the newest version.
func TestStepsBringAnOlderFileToANewOnesSchema(t *testing.T) {
	second := sqlitefile.Schema{
		Application: 7,
		Tables:      "CREATE TABLE t (n, m); CREATE TABLE u (k);",
		Steps:       []string{"ALTER TABLE t ADD COLUMN m", "CREATE TABLE u (k)"},
	}
	path := filepath.Join(t.TempDir(), "a.db")
	db := writer(t, path) // has table t with one row
	if _, err := db.ExecContext(t.Context(), "PRAGMA user_version = 1"); err != nil {
		t.Fatal(err)
	}
	if err := second.Upgrade(t.Context(), db, 1); err != nil {
		t.Fatal(err)
	}
	var n, version int
	var m, k any
	err := db.QueryRowContext(t.Context(), "SELECT n, m, (SELECT k FROM u), user_version FROM t, pragma_user_version").Scan(&n, &m, &k, &version)
	if err != nil || n != 7 || version != 3 || version != second.Version() {
		t.Errorf("n %d, version %d: %v", n, version, err)
	}
	broken := sqlitefile.Schema{Steps: []string{"", "", "no SQL"}}
	if err := broken.Upgrade(t.Context(), db, 3); err == nil || !strings.Contains(err.Error(), "step to version 4") {
		t.Errorf("a step that fails: %v", err)
	}
}

// A second backup at the same instant takes a name of its own.
func TestABackupNeverTakesTheNameOfAnother(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	db := writer(t, path)
	now := time.Date(2026, 2, 14, 12, 0, 0, 0, time.UTC)
	first := sqlitefile.BackupPath(path, 1, now)
	if want := path + ".v1-backup-20260214T120000.000Z"; first != want {
		t.Errorf("%s, want %s", first, want)
	}
	if _, err := db.ExecContext(t.Context(), "VACUUM INTO ?", first); err != nil {
		t.Fatal(err)
	}
	if second := sqlitefile.BackupPath(path, 1, now); second != first+"-2" {
		t.Errorf("%s, want %s-2", second, first)
	}
}
