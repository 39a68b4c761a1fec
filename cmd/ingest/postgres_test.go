//go:build unix

package main_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/trendvidstream/ingest/internal/faulty"
)

// TestLongPostgresScripts is TestScripts for a store in PostgreSQL: $POSTGRES is its URL, $LEDGER the URL of a ledger
// beside it.
func TestLongPostgresScripts(t *testing.T) {
	d := faulty.Postgres(t)
	other, err := d.CreateDatabase(t.Context(), "other")
	must(t, err)
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join(here, "testdata/postgres"),
		Setup: func(e *testscript.Env) error {
			e.Setenv("HOME", e.WorkDir)
			e.Setenv("INGEST_DATA", filepath.Join(e.WorkDir, "data"))
			e.Setenv("POSTGRES", strings.Replace(d.URL(), "@", ":hunter2hunter2@", 1))
			e.Setenv("LEDGER", d.URL())
			e.Setenv("OTHER", other)
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"ingest": ingestHere, "simulate": simulate, "jsonfield": jsonField, "exits": exits, "freeport": freePort, "sql": func(_ *testscript.TestScript, _ bool, args []string) { d.Must(t, args[0]) }},
	})
}
