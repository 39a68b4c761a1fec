package pgledger

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/sharedledger"
)

// SQLSTATE codes that are acted upon; see appendix A of PostgreSQL's manual.
const (
	noPrepared      = "26000"
	samePrepared    = "42P05"
	noSchema        = "3F000"
	noTable         = "42P01"
	noFunction      = "42883"
	uniqueViolation = "23505"
	duplicateTable  = "42P07"
)

// hints say what a person can do about other codes.
var hints = map[string]string{
	"28P01": checkUser,
	"28000": checkUser,
	"3D000": ": create it, or name another in the ledger's URL",
	"42501": ": the ledger needs CREATE on the database once, to make its schema, which is then its own",
	"25006": namePrimary,
	"55000": namePrimary,
	"XX001": restore,
	"XX002": restore,
}

const (
	checkUser   = ": check user and password of the ledger's URL, and the server's pg_hba.conf"
	namePrimary = ": it is a replica, or read-only: name the primary, or all hosts with ?target_session_attrs=read-write"
	restore     = ": restore the database from a backup"
)

// explain wraps an error of the server or the client in one of quota's errors. commits says that the failed statements
// may have been committed: the error is then quota.ErrInDoubt too, unless the server rules that out.
func (l *Ledger) explain(ctx context.Context, err error, commits bool) error {
	if err == nil || errors.As(err, new(*quotaError)) {
		return err
	}
	var answer *pgconn.PgError
	var scan pgx.ScanArgError
	inDoubt := commits                                               // pgconn.SafeToRetry would not do: after a lost answer to COMMIT it claims that nothing was sent
	if connect, ok := errors.AsType[*pgconn.ConnectError](err); ok { // its own text names user and database
		err = connect.Unwrap()
	}
	what := fmt.Errorf("%w: postgres: %w", quota.ErrUnavailable, err)
	switch {
	case errors.As(err, &scan):
		return corrupt(scan.Error())
	case errors.As(err, new(*tls.CertificateVerificationError)), errors.As(err, new(x509.UnknownAuthorityError)):
		what = fmt.Errorf("%w: postgres: its certificate is refused: %w: name the authority that signed it with ?sslrootcert=FILE; the name in it must be the host's", quota.ErrUnavailable, err)
	case errors.As(err, &answer):
		inDoubt = inDoubt && answer.Severity != "ERROR"
		what = answered(answer)
	case context.Cause(ctx) != nil:
		what = fmt.Errorf("%w: postgres: %w", quota.ErrUnavailable, context.Cause(ctx))
	case pgconn.Timeout(err), errors.Is(err, context.DeadlineExceeded):
		what = fmt.Errorf("%w: postgres: no answer within %v: %w", quota.ErrUnavailable, l.timeout, err)
	}
	if inDoubt {
		what = fmt.Errorf("%w: %w", what, quota.ErrInDoubt)
	}
	return &quotaError{what}
}

// answered returns the error for a server's answer.
func answered(e *pgconn.PgError) error {
	kind := quota.ErrUnavailable
	if hints[e.Code] == restore {
		kind = quota.ErrCorrupt
	}
	return fmt.Errorf("%w: postgres: %s (SQLSTATE %s)%s", kind, e.Message, e.Code, hints[e.Code])
}

// quotaError marks an error that already wraps one of quota's.
type quotaError struct{ err error }

func (e *quotaError) Error() string { return e.err.Error() }
func (e *quotaError) Unwrap() error { return e.err }

func saying(kind error, format string, args ...any) error {
	return &quotaError{fmt.Errorf("%w: postgres: %s", kind, fmt.Sprintf(format, args...))}
}

func errLost(account, what string) error {
	return saying(sharedledger.ErrLost, "account %s has not all of %s", account, what)
}

func errGeneration(now int64) error {
	return &quotaError{fmt.Errorf("postgres: %w", &sharedledger.GenerationError{Now: sharedledger.Generation(now)})}
}

// is reports whether the server answered with one of these codes.
func is(err error, codes ...string) bool {
	var answer *pgconn.PgError
	return errors.As(err, &answer) && slices.Contains(codes, answer.Code)
}
