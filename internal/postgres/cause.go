package postgres

import (
	"errors"
	"net"
	"os"
	"syscall"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/trendvidstream/ingest/internal/certificate"
)

// Cause is why a server cannot be used as it is, and what to do about it. The zero Cause: not known.
type Cause struct{ What, Cure string }

// causes are the causes by SQLSTATE, or by its beginning; see appendix A of PostgreSQL's manual.
var causes = map[string]Cause{
	"08P01": Pooled,
	"25006": replica,
	"28":    {"the user or the password is refused", "check user and password in the URL, and the server's pg_hba.conf"},
	"3D000": {"there is no such database", "create it with createdb NAME, or name another in the URL"},
	"42501": {"the user lacks a right",
		"it must own the schema, or be let in by GRANT; the ledger needs CREATE on the database once, to make its schema"},
	"53100": {"its disk is full", "free some space there; earlier writes are intact"},
	"53200": {"it is out of memory", "see the server's log, and lower work_mem or max_connections"},
	"53300": {"it has no connection left", "raise max_connections, or see in pg_stat_activity who has them"},
	"55000": replica,
	"55P03": {"another program has held it for too long", "see which ingest commands are running"},
	"57014": {"a statement was ended, by statement_timeout or by a person",
		"allow more: ALTER ROLE NAME SET statement_timeout = '30s'"},
	"57P":   {"it is being stopped or started", "wait: the next call asks it again"},
	"XX001": Damaged,
	"XX002": Damaged,
}

var replica = Cause{"it takes no writes: it is a replica, or read-only",
	"name the primary, or all hosts with ?target_session_attrs=read-write"}

// Pooled is a server that is reached through a pooler that does not suit a store.
var Pooled = Cause{"a pooler such as pgbouncer stands before it, and does not make the settings " +
	"that a connection of a store needs", "give the store PostgreSQL's own address; the ledger may go through the pooler"}

// Damaged is a database that has lost pages.
var Damaged = Cause{"its files are damaged", "restore the database from a backup"}

// CauseOf returns the cause of an error of a server, or of a connection to it.
func CauseOf(err error) Cause {
	var answer *pgconn.PgError
	wrong, cure := certificate.Refused(err,
		"set ?sslrootcert=FILE to the authority that signed it; the server's certificate must name the host")
	switch {
	case errors.As(err, &answer):
		for n := len(answer.Code); n >= 2; n-- {
			if c, ok := causes[answer.Code[:n]]; ok {
				return c
			}
		}
	case wrong != "":
		return Cause{"its certificate " + wrong, cure}
	case errors.As(err, new(*net.DNSError)):
		return Cause{"its host is not known", "check the host in the URL"}
	case errors.Is(err, syscall.ECONNREFUSED):
		return Cause{"nothing listens there", "see that it runs (psql URL -c 'select 1'), and check host and port in the URL"}
	case errors.As(err, new(*pgconn.ConnectError)), errors.Is(err, os.ErrDeadlineExceeded), pgconn.Timeout(err):
		return Cause{"it does not answer", "see whether it runs, and whether the address is right: psql URL -c 'select 1'"}
	}
	return Cause{}
}
