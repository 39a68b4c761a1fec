package sqlitefile_test

import (
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/trendvidstream/ingest/internal/sqlitefile"
)

// writer makes a database in WAL mode with one row, and leaves it open.
func writer(t *testing.T, path string) *sql.DB {
	t.Helper()
	db, err := sqlitefile.Open(path, 1, "mode=rwc", "_journal_mode=WAL")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	if _, err := db.ExecContext(t.Context(), `CREATE TABLE t (n); INSERT INTO t VALUES (7)`); err != nil {
		t.Fatal(err)
	}
	return db
}

func peekAt(t *testing.T, path string) (n int, err error) {
	t.Helper()
	err = sqlitefile.Peek(t.Context(), path, func(db *sql.DB) error {
		return db.QueryRowContext(t.Context(), `SELECT n FROM t`).Scan(&n)
	})
	return n, err
}

func names(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func TestPeekReadsAndLeavesNothingBeside(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a?b%20 c#d.db")
	db := writer(t, path)
	inUse := names(t, filepath.Dir(path))
	if n, err := peekAt(t, path); n != 7 || err != nil {
		t.Errorf("while it is in use: %d, %v, want 7", n, err)
	}
	if got := names(t, filepath.Dir(path)); !slices.Equal(got, inUse) {
		t.Errorf("beside a file in use: %v, before %v", got, inUse)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if n, err := peekAt(t, path); n != 7 || err != nil {
		t.Errorf("when it is closed: %d, %v, want 7", n, err)
	}
	if got, want := names(t, filepath.Dir(path)), []string{filepath.Base(path)}; !slices.Equal(got, want) {
		t.Errorf("beside a closed file: %v, want %v", got, want)
	}
}

func TestPeekIsCalledAgainWhenTheFileChangedMeanwhile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	if err := writer(t, path).Close(); err != nil {
		t.Fatal(err)
	}
	calls, n := 0, 0
	err := sqlitefile.Peek(t.Context(), path, func(db *sql.DB) error {
		if calls++; calls == 1 {
			other, err := sqlitefile.Open(path, 1, "mode=rw")
			if err != nil {
				return err
			}
			if _, err := other.ExecContext(t.Context(), `UPDATE t SET n = 8`); err != nil {
				return err
			}
			if err := other.Close(); err != nil {
				return err
			}
		}
		return db.QueryRowContext(t.Context(), `SELECT n FROM t`).Scan(&n)
	})
	if err != nil || calls < 2 || n != 8 {
		t.Errorf("%d calls, the last saw %d: %v, want at least 2 and 8", calls, n, err)
	}
}

func TestPeekDoesNotFinishACrashsLeftovers(t *testing.T) {
	dir := t.TempDir()
	path, copied := filepath.Join(dir, "x.db"), filepath.Join(dir, "copy.db")
	writer(t, path)
	f, err := os.Open(path)
	if err == nil {
		err = errors.Join(sqlitefile.Copy(f, copied), f.Close()) // with its log, without its -shm
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := peekAt(t, copied); !errors.Is(err, sqlitefile.ErrLeftover) {
		t.Errorf("%v, want %v", err, sqlitefile.ErrLeftover)
	}
	if err := os.Truncate(copied, 0); err != nil {
		t.Fatal(err)
	}
	if _, err := peekAt(t, copied); !errors.Is(err, sqlitefile.ErrLeftover) || !sqlitefile.HasLog(copied) {
		t.Errorf("of an empty file: %v; its log must stay", err)
	}
}

func TestASnapshotIsWholeWhileOthersWrite(t *testing.T) {
	dir := t.TempDir()
	path, to := filepath.Join(dir, "x.db"), filepath.Join(dir, "y.db")
	writer(t, path)
	if err := sqlitefile.Snapshot(t.Context(), path, to); err != nil {
		t.Fatal(err)
	}
	if n, err := peekAt(t, to); n != 7 || err != nil {
		t.Errorf("%d, %v, want 7", n, err)
	}
	if damage, err := sqlitefile.QuickCheck(t.Context(), to); damage != "" || err != nil {
		t.Errorf("%q, %v, want \"\"", damage, err)
	}
}
