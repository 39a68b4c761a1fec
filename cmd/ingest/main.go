// Command ingest fetches what metered APIs show, under one exact quota, into a searchable file.
package main

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"syscall"
	_ "time/tzdata" // the provider's day turns by a zone that a bare container does not have

	"github.com/trendvidstream/ingest/fetch"
	"github.com/trendvidstream/ingest/internal/config"
	"github.com/trendvidstream/ingest/internal/term"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr, nil)) }

// run is the whole program: its arguments in, its exit code out. wrapPass may be nil: see app.
func run(args []string, stdout, stderr io.Writer, wrapPass func(*fetch.Reconciler)) int {
	ctx, stop := notify(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	out := &term.CheckedWriter{To: stdout}
	a := &app{console: console{stdout: out, stderr: stderr, narrow: term.IsTerminal(stderr)}, wrapPass: wrapPass}
	root := newRoot(a)
	root.SetArgs(args)
	root.SetOut(out)
	root.SetErr(stderr)
	cmd, err := root.ExecuteContextC(ctx)
	if err != nil && !a.started {
		err = usageError{err}
	}
	err = endedBy(ctx, err)
	if out.Err != nil && silent(err) {
		err = out.Err // a stop that nobody could read of is one, too
	}
	return a.report(cmd.CommandPath(), err)
}

// app is one run of the program.
type app struct {
	console
	flags   config.Flags
	cfg     *config.Config
	clock   *config.Clock
	started bool // past the arguments: an error is no longer one of usage

	// wrapPass may put something around the parts of a pass before it begins. The program leaves it nil.
	wrapPass func(*fetch.Reconciler)
}

// signalled is the cause of a context that a signal ended.
type signalled struct{ sig syscall.Signal }

func (s signalled) Error() string { return "ended by signal: " + s.sig.String() }

// notify ends the context at the first of these signals; the second one kills as if none were caught.
func notify(parent context.Context, of ...os.Signal) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(parent)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, of...)
	done := make(chan struct{})
	go func() {
		defer close(done)
		select {
		case s := <-signals:
			signal.Stop(signals)
			cancel(signalled{s.(syscall.Signal)})
		case <-ctx.Done():
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		cancel(nil)
		<-done
	}
}

// endedBy is the signal that ended the context, whatever error it caused, and otherwise the error.
func endedBy(ctx context.Context, err error) error {
	if ended, ok := errors.AsType[signalled](context.Cause(ctx)); ok && err != nil {
		return ended
	}
	return err
}
