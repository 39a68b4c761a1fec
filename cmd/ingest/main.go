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

	"github.com/trendvidstream/ingest/internal/term"
)

// version is set by the linker.
var version = "dev"

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// run is the whole program: its arguments in, its exit code out.
func run(args []string, stdout, stderr io.Writer) int {
	ctx, stop := notify(context.Background())
	defer stop()
	out := &term.CheckedWriter{To: stdout}
	a := &app{stdout: out, stderr: stderr, narrow: term.IsTerminal(stderr)}
	root := a.root()
	root.SetArgs(args)
	root.SetOut(out)
	root.SetErr(stderr)
	cmd, err := root.ExecuteContextC(ctx)
	if err != nil && !a.started {
		err = usageError{err}
	}
	if ended := (signalled{}); err != nil && errors.As(context.Cause(ctx), &ended) {
		err = ended // whatever it was that the signal cut short
	}
	if code := (codeError{}); out.Err != nil && (err == nil || errors.As(err, &code) && code.err == nil) {
		err = out.Err // a stop that nobody could read of is one, too
	}
	return a.report(cmd.CommandPath(), err)
}

// signalled is the cause of a context that a signal ended.
type signalled struct{ sig syscall.Signal }

func (s signalled) Error() string { return "ended by signal: " + s.sig.String() }

// notify ends the context at the first signal; the second one kills as if none were caught.
func notify(parent context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(parent)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
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
