package main_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/trendvidstream/ingest/fetch"
)

// failpoint is wrapped around the parts of a pass by the tested program; nil: by no process.
var failpoint = func() func(*fetch.Reconciler) { return nil }

// TestScripts runs the command line as a person types it. readme.txtar pastes the blocks of README.md and docs.
func TestScripts(t *testing.T) { runScripts(t, "testdata/script") }

// TestLongScripts runs the scripts that wait, or that work for seconds.
func TestLongScripts(t *testing.T) { runScripts(t, "testdata/longscript") }

func runScripts(t *testing.T, dir string) {
	t.Helper()
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join(here, dir),
		Setup: func(e *testscript.Env) error {
			e.Setenv("HOME", e.WorkDir)
			e.Setenv("INGEST_DATA", filepath.Join(e.WorkDir, "data"))
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"ingest": ingestHere, "simulate": simulate, "jsonfield": jsonField, "exits": exits, "serve": serveScript, "schema": schemaScript, "readme": readmeScript, "answers": answersScript, "freeport": freePort},
	})
}

// simulate starts ingest simulate with the arguments in the background, and sets $SIM to its URL. It is stopped with
// SIGTERM, as an operator would, and must then exit 0.
func simulate(ts *testscript.TestScript, neg bool, args []string) {
	if neg {
		ts.Fatalf("simulate cannot be negated")
	}
	cmd := exec.Command(lookPath(ts, "ingest"), append([]string{"simulate", "--quiet"}, args...)...)
	cmd.Dir = ts.MkAbs(".")
	cmd.Env = []string{"INGEST_NOW=" + ts.Getenv("INGEST_NOW")}
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	ts.Check(err)
	ts.Check(cmd.Start())
	ts.Defer(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		if err := cmd.Wait(); err != nil {
			ts.Logf("simulate ended with %v", err)
		}
	})
	var first struct{ URL string }
	line, err := bufio.NewReader(out).ReadBytes('\n')
	ts.Check(err)
	ts.Check(json.Unmarshal(line, &first))
	ts.Setenv("SIM", first.URL)
}

func lookPath(ts *testscript.TestScript, name string) string {
	for _, dir := range filepath.SplitList(ts.Getenv("PATH")) {
		if path := filepath.Join(dir, name); isFile(path) {
			return path
		}
	}
	ts.Fatalf("%s is not on the script's PATH", name)
	return ""
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// exits runs a command and requires an exit code: exits 78 ingest config check.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE command [args...]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	code := 0
	if args[1] == "ingest" {
		code = runHere(ts, args[2:])
	} else if err := ts.Exec(args[1], args[2:]...); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Fatalf("%v: %v, want an exit code", args[1:], err)
		}
		code = exit.ExitCode()
	}
	if code != want {
		ts.Fatalf("%v: exit %d, want %d", args[1:], code, want)
	}
}

// jsonField checks a field of the JSON document that the last command printed: jsonfield a.b VALUE.
func jsonField(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: jsonfield path value")
	}
	var doc any
	if err := json.Unmarshal([]byte(ts.ReadFile("stdout")), &doc); err != nil {
		ts.Fatalf("standard output is not JSON: %v", err)
	}
	got, err := lookup(doc, args[0])
	ts.Check(err)
	if (got == args[1]) == neg {
		ts.Fatalf("%s is %s, want %s", args[0], got, args[1])
	}
}

// lookup follows a path such as a.0.b in a decoded document and returns the value there as JSON.
func lookup(doc any, path string) (string, error) {
	for key := range strings.SplitSeq(path, ".") {
		switch d := doc.(type) {
		case map[string]any:
			v, ok := d[key]
			if !ok {
				return "", fmt.Errorf("no field %q of %s", key, path)
			}
			doc = v
		case []any:
			i, err := strconv.Atoi(key)
			if err != nil || i < 0 || i >= len(d) {
				return "", fmt.Errorf("no element %q of %s, which has %d", key, path, len(d))
			}
			doc = d[i]
		default:
			return "", fmt.Errorf("nothing at %q of %s", key, path)
		}
	}
	out, err := json.Marshal(doc)
	return strings.Trim(string(out), `"`), err
}
