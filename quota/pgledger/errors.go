package pgledger

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/trendvidstream/ingest/internal/postgres"
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
	serialization   = "40001" // behind a pooler, where the role has another default isolation
)

// explain wraps an error of the server or the client in one of quota's errors. commits says that the failed statements
// may have been committed: the error is then quota.ErrInDoubt too, unless the server rules that out.
func (l *Ledger) explain(ctx context.Context, err error, commits bool) error {
	if err == nil || errors.As(err, new(*quotaError)) {
		return err
	}
	var answer *pgconn.PgError
	var scan pgx.ScanArgError
	// pgconn.SafeToRetry would not do: after a lost answer to COMMIT it claims that nothing was sent
	inDoubt := commits
	if connect, ok := errors.AsType[*pgconn.ConnectError](err); ok { // its own text names user and database
		err = connect.Unwrap()
	}
	var what error
	switch {
	case errors.As(err, &scan):
		return corrupt(scan.Error())
	case errors.As(err, &answer):
		inDoubt = inDoubt && answer.Severity != "ERROR"
		what = answered(answer)
	case context.Cause(ctx) != nil:
		what = fmt.Errorf("%w: postgres: %w", quota.ErrUnavailable, context.Cause(ctx))
	case pgconn.Timeout(err), errors.Is(err, context.DeadlineExceeded):
		what = caused(quota.ErrUnavailable, fmt.Errorf("no answer within %v: %w", l.timeout, err))
	default:
		what = caused(quota.ErrUnavailable, err)
	}
	if inDoubt {
		what = fmt.Errorf("%w: %w", what, quota.ErrInDoubt)
	}
	return &quotaError{what}
}

// answered returns the error for a server's answer.
func answered(e *pgconn.PgError) error {
	kind := quota.ErrUnavailable
	if postgres.CauseOf(e) == postgres.Damaged {
		kind = quota.ErrCorrupt
	}
	return caused(kind, e)
}

// caused adds the cause of an error, if it is known.
func caused(kind, err error) error {
	said := err
	if answer, ok := errors.AsType[*pgconn.PgError](err); ok { // its own text repeats the severity
		said = serverSaid{answer}
	}
	if c := postgres.CauseOf(err); c.What != "" {
		said = &quota.ServerError{Cause: c.What, Cure: c.Cure, Err: said}
	}
	return fmt.Errorf("%w: postgres: %w", kind, said)
}

// serverSaid is a server's answer in few words.
type serverSaid struct{ *pgconn.PgError }

func (s serverSaid) Error() string { return fmt.Sprintf("%s (SQLSTATE %s)", s.Message, s.Code) }

func (s serverSaid) Unwrap() error { return s.PgError }

// quotaError marks an error that already wraps an error of package quota.
type quotaError struct{ err error }

func (e *quotaError) Error() string { return e.err.Error() }
func (e *quotaError) Unwrap() error { return e.err }

func saying(kind error, format string, args ...any) error {
	return &quotaError{fmt.Errorf("%w: postgres: %s", kind, fmt.Sprintf(format, args...))}
}

func errLost(account, what string) error {
	return saying(sharedledger.ErrLost, "account %s lacks some of %s", account, what)
}

func errGeneration(now int64) error {
	return &quotaError{fmt.Errorf("postgres: %w", &sharedledger.GenerationError{Now: sharedledger.Generation(now)})}
}

// is reports whether the server answered with one of these codes.
func is(err error, codes ...string) bool {
	var answer *pgconn.PgError
	return errors.As(err, &answer) && slices.Contains(codes, answer.Code)
}
