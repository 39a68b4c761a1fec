// Command ingest fetches data from metered APIs, under one exact quota, into a searchable file.
package main

import (
	"context"
	"io"
	"os"
	"runtime/debug"
	"slices"
	"syscall"
	_ "time/tzdata" // a bare container lacks the provider's time zone

	"github.com/trendvidstream/ingest/fetch"
	"github.com/trendvidstream/ingest/internal/term"
)

func main() {
	// Some 3 MB of the heap live, and a page of serve leaves as much garbage: with the usual room each page causes
	// two collections. Past 256 MiB memory is worth more than time.
	if os.Getenv("GOGC") == "" && os.Getenv("GOMEMLIMIT") == "" {
		debug.SetGCPercent(400)
		debug.SetMemoryLimit(256 << 20)
	}
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr, nil))
}

// run is the whole program: arguments in, exit code out. wrapPass may be nil: see app.
func run(args []string, stdout, stderr io.Writer, wrapPass func(*fetch.Reconciler)) int {
	ctx, stop := notify(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	out := &term.CheckedWriter{To: stdout}
	a := &app{console: console{stdout: out, stderr: stderr, narrow: term.IsTerminal(stderr)}, wrapPass: wrapPass}
	root := newRoot(a)
	if len(args) > 0 && (args[0] == "-v" || args[0] == "--version") {
		args = args[:1] // ignore further signals
	}
	root.SetArgs(args)
	root.SetOut(out)
	root.SetErr(stderr)
	refuseUnknownShells(root)
	cmd, err := root.ExecuteContextC(ctx)
	if err != nil && !a.started {
		err = usageError{err}
		a.json = a.json || slices.Contains(args, "--json") // parsing ends at the first wrong flag
	}
	err = endedBy(ctx, err)
	if out.Err != nil && silent(err) {
		err = out.Err // a stop whose report could not be written is an error, too
	}
	return a.report(cmd.CommandPath(), err)
}
