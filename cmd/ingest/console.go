package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"log/slog"
	"os"
	"time"

	"github.com/itchyny/gojq"
	"github.com/spf13/cobra"

	"github.com/trendvidstream/ingest/fetch/wire"
	"github.com/trendvidstream/ingest/internal/config"
	"github.com/trendvidstream/ingest/internal/service"
	"github.com/trendvidstream/ingest/internal/term"
)

// console writes a command's output and messages, in the form that was asked for.
type console struct {
	stdout      *term.CheckedWriter
	stderr      io.Writer
	json, quiet bool
	query       *gojq.Code        // of --jq; nil: the whole document
	filter      func(v any) error // prints a document through the query; nil: no query
	narrow      bool              // standard error is a terminal, not a log or cron's mail
	logs        service.LogFormat
	logger      *slog.Logger // where messages go; nil: each of them to stderr
}

// useQuery makes documents print through the query of --jq, which ctx can end.
func (c *console) useQuery(ctx context.Context) {
	if c.query != nil {
		c.json = true
		c.filter = func(v any) error { return term.PrintQuery(ctx, c.stdout, c.query, v) }
	}
}

func (c *console) printJSON(v any) error {
	if c.filter != nil {
		return c.filter(v)
	}
	return term.PrintJSON(c.stdout, v) // a CheckedWriter reports failures
}

// screen is a document that can be printed for a person. The CheckedWriter keeps any error.
type screen interface{ Print(w io.Writer) }

// show prints a document, as JSON or for a person.
func (c *console) show(answer screen) error {
	if c.json {
		return c.printJSON(answer)
	}
	answer.Print(c.stdout)
	return nil
}

// showDone is show for what a command has done, which --quiet does not print.
func (c *console) showDone(answer screen) error {
	if c.quiet && !c.json {
		return nil
	}
	return c.show(answer)
}

// say prints a message for a person, unless the program is quiet.
func (c *console) say(format string, args ...any) {
	if !c.quiet {
		c.tell(fmt.Sprintf(format, args...))
	}
}

// tell prints a message for a person on standard error: in one line for logs, wrapped on a terminal.
func (c *console) tell(message string) {
	if c.narrow {
		message = term.Wrap(message, term.Screen, "  ")
	}
	fmt.Fprintln(c.stderr, message)
}

// log returns the logger for messages that a person did not ask for but may want.
func (c *console) log() *slog.Logger {
	if c.logger != nil {
		return c.logger
	}
	return slog.New(c.logs.Handler(c.stderr, slog.LevelWarn))
}

// catchStandardLog turns messages of libraries to the standard library's logger into lines of our log. Of other
// loggers that they have, each is turned off where the library is set up.
func (c *console) catchStandardLog() {
	to := c.logs.Handler(os.Stderr, slog.LevelWarn)
	log.SetFlags(0)
	log.SetOutput(wire.StandardLog{To: slog.NewLogLogger(to, slog.LevelWarn).Writer()})
}

// watchable lets a command that only reads print its answer repeatedly. It continues while the ledger cannot answer.
func (a *app) watchable(cmd *cobra.Command) *cobra.Command {
	once, watch, seconds := cmd.RunE, false, 5
	cmd.Flags().BoolVar(&watch, "watch", false, "repeat it until Ctrl-C; spends nothing")
	cmd.Flags().Var(config.Count(&seconds, 1, 3600), "interval", "of --watch: `N` seconds")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if !watch {
			return once(cmd, args)
		}
		gap := "\n"
		if a.json {
			gap = "" // one document per line
		}
		return term.Watch(cmd.Context(), a.stdout, time.Duration(seconds)*time.Second,
			gap, func(to *term.CheckedWriter) error {
				a.stdout = to
				err := once(cmd, args)
				switch {
				case silent(err): // everything was printed already
					return nil
				case exitCode(err) == exitUnavailable:
					a.tell("ingest: " + err.Error())
					return nil
				}
				return err
			})
	}
	return cmd
}
