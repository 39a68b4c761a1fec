package pgstore

import (
	"errors"
	"os"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/internal/postgres"
)

// explain adds the cause and the cure to an error, if they are known.
func explain(name string, err error) error {
	if c := postgres.CauseOf(err); c.What != "" {
		return &causedError{c, name, err}
	}
	return err
}

// causedError is an error of the server called name that a person can do something about.
type causedError struct {
	postgres.Cause

	name string
	err  error
}

func (e *causedError) Error() string {
	return e.name + ": " + e.What + ": " + e.Cure + ": " + e.err.Error()
}

// Remedy names the trouble and the cure.
func (e *causedError) Remedy() (wrong, advice string) { return e.What, e.Cure }

func (e *causedError) Unwrap() error { return e.err }

func hint(err error) string {
	c := postgres.CauseOf(err)
	return strings.TrimSuffix(c.What+": "+c.Cure, ": ")
}

// away reports whether a statement failed because the server could not answer it now: it waits for another program, is
// stopping, or was silent.
func away(err error) bool {
	var pg *pgconn.PgError
	return errors.Is(err, os.ErrDeadlineExceeded) || errors.As(err, &pg) && (pg.Code == "55P03" || temporary(pg))
}

// temporary reports whether the server refuses every client for the moment.
func temporary(pg *pgconn.PgError) bool {
	return strings.HasPrefix(pg.Code, "57P") || strings.HasPrefix(pg.Code, "53") || pg.Code == "08006"
}

// errPooled means that something on the way to the server dropped the connection's settings.
var errPooled = errors.New("the connection's settings are missing: " + postgres.Pooled.What +
	": " + postgres.Pooled.Cure)

// unavailable marks an error of a server that cannot be reached, or refuses every client for the moment, as
// ingest.ErrStoreSilent. Its text is the last line: the last address tried.
type unavailable struct{ error }

func (unavailable) Is(target error) bool { return target == ingest.ErrStoreSilent }

func (u unavailable) Unwrap() error { return u.error }

func (u unavailable) Error() string {
	lines := strings.Split(strings.TrimSpace(u.error.Error()), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}

// unreachable marks connection errors that waiting may cure; others, such as a wrong password, it returns unchanged.
func unreachable(err error) error {
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok && !temporary(pg) {
		return err
	}
	return unavailable{err}
}
