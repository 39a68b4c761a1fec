package service

import (
	"errors"

	"github.com/trendvidstream/ingest/internal/standing"
	"github.com/trendvidstream/ingest/internal/term"
)

// public returns the error for clients of the service: it names files without their directories. Logs have the whole
// text.
func public(err error) error {
	if err == nil {
		return nil
	}
	if known, ok := errors.AsType[standing.Remedy](err); ok {
		return publicRemedy{publicError{err}, known}
	}
	return publicError{err}
}

type publicError struct{ err error }

func (e publicError) Error() string { return term.WithoutDirectories(e.err.Error()) }
func (e publicError) Unwrap() error { return e.err }

type publicRemedy struct {
	publicError

	known standing.Remedy
}

// Remedy names the trouble and the cure.
func (e publicRemedy) Remedy() (wrong, advice string) {
	wrong, advice = e.known.Remedy()
	return term.WithoutDirectories(wrong), term.WithoutDirectories(advice)
}
