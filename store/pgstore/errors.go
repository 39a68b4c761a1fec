package pgstore

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/trendvidstream/ingest/store"
)

// explain adds a hint to an error.
func explain(name string, err error) error {
	if h := hint(err); h != "" {
		return fmt.Errorf("%s: %s: %w", name, h, err)
	}
	return err
}

// hints says what to try, by Postgres's error code or its beginning.
var hints = map[string]string{
	"08P01": "a pooler such as pgbouncer stands before it, and will not set what a connection of a store needs: give the store PostgreSQL's own address; the ledger may go through the pooler",
	"25006": "it cannot be written: it is a standby, or was set to be read only",
	"28":    "the user or the password is wrong, or pg_hba.conf does not let this user in",
	"3D000": "there is no such database: createdb makes it",
	"42501": "the user may not do that: it must own the schema, or be let in by GRANT",
	"53100": "its disk is full: free some space there; what was written before is intact",
	"53300": "it has no connection left: raise max_connections, or see who has them",
	"55P03": "another program has held it for too long: see which ingest commands are running",
	"57P":   "it is being stopped or started",
}

func hint(err error) string {
	var pg *pgconn.PgError
	switch {
	case errors.As(err, new(*tls.CertificateVerificationError)), errors.As(err, new(x509.UnknownAuthorityError)):
		return "its certificate is refused: name the authority that signed it with ?sslrootcert=FILE; the name in it must be the host's"
	case errors.As(err, &pg):
		for n := len(pg.Code); n >= 2; n-- {
			if h := hints[pg.Code[:n]]; h != "" {
				return h
			}
		}
	case errors.As(err, new(*pgconn.ConnectError)), errors.Is(err, os.ErrDeadlineExceeded):
		return "it does not answer: see whether it runs, and whether the address is right"
	}
	return ""
}

// away reports whether a statement failed because the server could not answer it now: it waits for another program, is
// stopping, or was silent.
func away(err error) bool {
	var pg *pgconn.PgError
	return errors.Is(err, os.ErrDeadlineExceeded) || errors.As(err, &pg) && (pg.Code == "55P03" || temporary(pg))
}

// temporary reports whether the server refuses everybody just now.
func temporary(pg *pgconn.PgError) bool {
	return strings.HasPrefix(pg.Code, "57P") || strings.HasPrefix(pg.Code, "53") || pg.Code == "08006"
}

// errPooled means that something on the way to the server dropped the connection's settings.
var errPooled = errors.New("what the connection set is not set: " + hints["08P01"])

// unavailable marks an error of a server that cannot be reached, or refuses everybody just now, as
// store.ErrUnavailable. Its text is the last line: the last address tried.
type unavailable struct{ error }

func (unavailable) Is(target error) bool { return target == store.ErrUnavailable }

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
