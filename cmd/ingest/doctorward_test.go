package main_test

import (
	program "github.com/trendvidstream/ingest/cmd/ingest"

	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/trendvidstream/ingest/internal/doctor"
	"github.com/trendvidstream/ingest/internal/youtubesim"
	"github.com/trendvidstream/ingest/quota/sqliteledger"
)

// ward is a healthy world until a test breaks it.
type ward struct {
	*testing.T

	data string
}

// newWard returns a directory where every region was fetched once.
func newWard(t *testing.T) *ward {
	t.Helper()
	standIn(t, youtubesim.Options{})
	w := &ward{T: t, data: os.Getenv("INGEST_DATA")}
	for _, name := range []string{"INGEST_KEY", "INGEST_KEY_FILE", "CREDENTIALS_DIRECTORY", "STATE_DIRECTORY"} {
		t.Setenv(name, "")
	}
	t.Setenv("XDG_STATE_HOME", filepath.Join(t.TempDir(), "state"))
	t.Setenv("HOME", t.TempDir())
	ingestCode(t, exitOK, "run", "--pages", "1")
	return w
}

// another returns the same world again, for a test to break.
func (w *ward) another(t *testing.T) *ward {
	t.Helper()
	c := &ward{T: t, data: filepath.Join(t.TempDir(), "data")}
	if err := os.CopyFS(c.data, os.DirFS(w.data)); err != nil {
		t.Fatal(err)
	}
	_ = filepath.Walk(c.data, func(path string, info os.FileInfo, _ error) error {
		return os.Chmod(path, map[bool]os.FileMode{true: 0o700, false: 0o600}[info.IsDir()])
	})
	t.Setenv("INGEST_DATA", c.data)
	t.Setenv("XDG_STATE_HOME", filepath.Join(t.TempDir(), "state"))
	return c
}

// write makes a file and returns its path.
func (w *ward) write(name, text string, mode os.FileMode) string {
	w.Helper()
	path := filepath.Join(w.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		w.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		w.Fatal(err)
	}
	return path
}

// change runs statements on one of the two databases.
func (w *ward) change(file string, statements ...string) {
	w.Helper()
	db, err := sql.Open("sqlite", filepath.Join(w.data, file))
	if err != nil {
		w.Fatal(err)
	}
	for _, s := range statements {
		if _, err := db.Exec(s); err != nil {
			w.Fatalf("%s: %v", s, err)
		}
	}
	if err := db.Close(); err != nil {
		w.Fatal(err)
	}
}

// damage overwrites the middle of a database.
func (w *ward) damage(file string) {
	w.Helper()
	path := filepath.Join(w.data, file)
	text, err := os.ReadFile(path)
	if err != nil {
		w.Fatal(err)
	}
	for i := 4096; i < len(text); i++ {
		text[i] ^= 0x5a
	}
	if err := os.WriteFile(path, text, 0o600); err != nil {
		w.Fatal(err)
	}
}

func (w *ward) remove(names ...string) {
	w.Helper()
	for _, name := range names {
		if err := os.RemoveAll(filepath.Join(w.data, name)); err != nil {
			w.Fatal(err)
		}
	}
}

// journal changes the data directory's knowledge about a ledger elsewhere.
func (w *ward) journal(change func(context.Context, *sqliteledger.Ledger) error) {
	w.Helper()
	l, err := sqliteledger.Open(w.Context(), filepath.Join(w.data, ledgerFile))
	if err != nil {
		w.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	if err := change(w.Context(), l); err != nil {
		w.Fatal(err)
	}
}

// doctorDocument is printed by doctor --json.
type doctorDocument program.DoctorDocument

// find returns the line of one check.
func (d doctorDocument) find(check string) doctor.Finding {
	i := slices.IndexFunc(d.Checks, func(c doctor.Finding) bool { return c.Check == check })
	if i < 0 {
		return doctor.Finding{}
	}
	return d.Checks[i]
}

// listing returns every file below the directories, with everything that a change would change. Every reader of a
// database writes into its shared memory.
func listing(t *testing.T, dirs ...string) []string {
	t.Helper()
	var out []string
	for _, dir := range dirs {
		_ = filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
			if err == nil && strings.HasSuffix(path, "-shm") {
				out = append(out, fmt.Sprint(path, info.Mode(), info.Size()))
			} else if err == nil {
				out = append(out, fmt.Sprint(path, info.Mode(), info.Size(), info.ModTime().UnixNano()))
			}
			return nil
		})
	}
	return out
}
