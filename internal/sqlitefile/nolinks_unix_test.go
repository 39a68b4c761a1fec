//go:build unix

package sqlitefile_test

import (
	"database/sql"
	"os"
	"path/filepath"
	"testing"

	"github.com/trendvidstream/ingest/internal/sqlitefile"
)

// A program that uses our ledger may have databases of its own, also behind links.
func TestLinksAreFollowedForOtherFilesOnly(t *testing.T) {
	dir := t.TempDir()
	create := func(open func(string) (*sql.DB, error), path string) error {
		db, err := open(path)
		if err != nil {
			return err
		}
		defer func() { _ = db.Close() }()
		_, err = db.ExecContext(t.Context(), `CREATE TABLE t (x)`)
		return err
	}
	others := func(path string) (*sql.DB, error) { return sql.Open("sqlite", path) }
	own := func(path string) (*sql.DB, error) { return sqlitefile.Open(path, 1) }
	if err := create(own, filepath.Join(dir, "own.db")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"own", "other"} {
		if err := os.Symlink(filepath.Join(dir, name+"-target.db"), filepath.Join(dir, name+"-link.db")); err != nil {
			t.Fatal(err)
		}
	}
	if err := create(others, filepath.Join(dir, "other-link.db")); err != nil {
		t.Errorf("another database behind a link: got %v, want none", err)
	}
	if err := create(own, filepath.Join(dir, "own-link.db")); err == nil {
		t.Error("a database of ours behind a link: got no error, want one")
	}
	if _, err := os.Lstat(filepath.Join(dir, "own-target.db")); err == nil {
		t.Error("own-target.db behind a link: got created, want no file")
	}
}
