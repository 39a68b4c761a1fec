package main

import (
	"errors"
	"fmt"

	"github.com/trendvidstream/ingest/internal/config"
	"github.com/trendvidstream/ingest/internal/service"
	"github.com/trendvidstream/ingest/internal/standing"
	"github.com/trendvidstream/ingest/internal/term"
	"github.com/trendvidstream/ingest/quota/sqliteledger"
)

// The exit codes: 64 and up follow sysexits.h.
const (
	exitOK          = standing.ExitOK
	exitError       = standing.ExitError
	exitUsage       = standing.ExitUsage
	exitPartial     = standing.ExitPartial
	exitUnavailable = standing.ExitUnavailable
	exitStopped     = standing.ExitStopped
	exitKey         = standing.ExitKey
	exitConfig      = standing.ExitConfig
	exitSignal      = 128 // plus the signal's number
)

// codeError is an outcome with its own exit code. A nil err prints nothing: all messages are printed already.
type codeError struct {
	code int
	err  error
}

// endWith returns the outcome of a command that ends with this code because of err; nil for exitOK.
func endWith(code int, err error) error {
	if code == exitOK {
		return nil
	}
	return codeError{code, err}
}

func (e codeError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit %d", e.code)
	}
	return e.err.Error()
}

func (e codeError) Unwrap() error { return e.err }

// silent reports whether there is nothing to print for an error.
func silent(err error) bool {
	code, ok := errors.AsType[codeError](err)
	return err == nil || ok && code.err == nil || is[service.LoggedError](err)
}

// outdated reports whether an error means that a newer program wrote the data.
func outdated(err error) bool {
	return standing.CauseOf(err, "") == standing.NewerProgram
}

// usageError is a mistake in the command line.
type usageError struct{ error }

// Cause is the name of the cause in the table of standing.
func (usageError) Cause() string { return string(standing.WrongUsage) }

// exitCode returns the exit code of a command that ends with err: by its signal, its own, or by its cause.
func exitCode(err error) int {
	if signal, ended := errors.AsType[signalled](err); ended {
		return exitSignal + int(signal.sig)
	}
	if code, own := errors.AsType[codeError](err); own {
		return code.code
	}
	return standing.ExitOf(err)
}

// is reports whether an error is of type E or wraps one.
func is[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

type errorDocument struct {
	Error    string `json:"error"`
	Code     string `json:"code"` // usage, config, key, unavailable, partial or error
	ExitCode int    `json:"exit_code"`
	Hint     string `json:"hint"` // what to try next
}

func (a *app) report(command string, err error) int {
	if silent(err) {
		return exitCode(err)
	}
	message, code := config.RedactKeys(term.Clean(err.Error())), exitCode(err)
	if a.json {
		kind, ok := map[int][2]string{
			exitUsage: {"usage", command + " --help"}, exitUnavailable: {"unavailable", "ingest doctor"},
			exitKey:    {"key", "ingest doctor --online"},
			exitConfig: {"config", "ingest config check"}, exitPartial: {"partial", "ingest slots"},
			exitStopped: {"partial", "ingest slots"},
		}[code]
		if !ok {
			kind = [2]string{"error", "ingest doctor"}
		}
		_ = term.PrintJSON(a.stderr, errorDocument{message, kind[0], code, kind[1]}) // nothing can be done if this fails
		return code
	}
	message = "ingest: " + message
	if code == exitUsage {
		message += fmt.Sprintf(" (see %s --help)", command)
	}
	if is[*sqliteledger.DamagedError](err) && !is[ledgerFileError](err) {
		message += ": " + howToReplace
	}
	a.tell(message)
	return exitCode(err)
}
