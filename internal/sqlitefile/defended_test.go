package sqlitefile_test

import (
	"path/filepath"
	"testing"

	"github.com/trendvidstream/ingest/internal/sqlitefile"
)

// No connection writes into a schema or a page behind SQLite's back, or calls functions outside the database that a
// schema names.
func TestConnectionsAreDefended(t *testing.T) {
	db, err := sqlitefile.Open(filepath.Join(t.TempDir(), "a.db"), 1)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	if _, err := db.ExecContext(t.Context(), `CREATE TABLE t (n); CREATE VIRTUAL TABLE w USING fts5 (n)`); err != nil {
		t.Fatal(err)
	}
	var trusted, checked int
	if err := db.QueryRowContext(t.Context(), `SELECT trusted_schema, cell_size_check FROM pragma_trusted_schema, pragma_cell_size_check`).Scan(&trusted, &checked); err != nil ||
		trusted != 0 || checked != 1 {
		t.Errorf("trusted_schema %d, cell_size_check %d: %v, want 0 and 1", trusted, checked, err)
	}
	for _, sql := range []string{`PRAGMA writable_schema = 1; DELETE FROM sqlite_schema WHERE name = 't'`, `UPDATE sqlite_dbpage SET data = zeroblob(4096) WHERE pgno = 2`, `DELETE FROM w_data`} {
		if _, err := db.ExecContext(t.Context(), sql); err == nil {
			t.Errorf("%s is obeyed, want an error", sql)
		}
	}
}
