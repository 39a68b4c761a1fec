package service

import (
	"errors"

	"github.com/trendvidstream/ingest/internal/term"
)

// public returns the error as those may see it who can reach the service: it names files without their directories.
// Logs have the whole text.
func public(err error) error {
	if err == nil {
		return nil
	}
	if known, ok := errors.AsType[remedy](err); ok {
		return publicRemedy{publicError{err}, known}
	}
	return publicError{err}
}

type publicError struct{ err error }

func (e publicError) Error() string { return term.WithoutDirectories(e.err.Error()) }
func (e publicError) Unwrap() error { return e.err }

// remedy is an error that knows what is wrong and what to do.
type remedy interface {
	error
	Remedy() (wrong, advice string)
}

type publicRemedy struct {
	publicError

	known remedy
}

// Remedy names the trouble and the cure.
func (e publicRemedy) Remedy() (wrong, advice string) {
	wrong, advice = e.known.Remedy()
	return term.WithoutDirectories(wrong), term.WithoutDirectories(advice)
}
