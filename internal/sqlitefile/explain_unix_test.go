//go:build unix

package sqlitefile_test

import (
	"errors"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/trendvidstream/ingest/internal/sqlitefile"
)

func TestTooManyOpenFilesAreNamed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "none", "x.db")
	db, err := sqlitefile.Open(path, 1)
	if err != nil {
		t.Fatal(err)
	}
	_, err = db.ExecContext(t.Context(), "CREATE TABLE t (x)")
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	var usual syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &usual); err != nil {
		t.Fatal(err)
	}
	none := usual
	none.Cur = 0
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &none); err != nil {
		t.Fatal(err)
	}
	said := sqlitefile.Explain(path, err)
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &usual); err != nil {
		t.Fatal(err)
	}
	if !errors.Is(said, syscall.EMFILE) {
		t.Errorf("%v does not name its reason", said)
	}
}
