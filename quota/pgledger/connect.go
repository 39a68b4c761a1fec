package pgledger

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/trendvidstream/ingest/quota"
)

// maxConns bounds the connections of one process: an operation takes about a millisecond.
const maxConns = 8

// longer is how many time-outs a sync may take, as it may have 100,000 rows, and making the schema, as many may at once.
const longer = 20

// settings are the parameters that a URL may have.
var settings = []string{"sslmode", "sslrootcert", "sslcert", "sslkey", "target_session_attrs", "host"}

// Parse reads a URL of this form; everything in brackets may be left out:
//
//	postgres://[user][:password]@[host][:port],…[/database][?sslmode=…][&sslrootcert=FILE][&sslcert=FILE][&sslkey=FILE][&target_session_attrs=…][&host=/SOCKETS]
//
// Defaults come from PGUSER, PGPASSWORD, ~/.pgpass and so on, as for every client of PostgreSQL. Of several hosts, the
// one that accepts writes is used. An error never quotes the URL, which may hold a password.
func Parse(s string) (*pgxpool.Config, error) {
	invalid := func(what string) error { return fmt.Errorf("%w: the ledger's URL: %s", quota.ErrUnknown, what) }
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "postgres" && u.Scheme != "postgresql" || strings.Contains(u.Path+u.RawQuery+u.Fragment, "@") {
		return nil, invalid("it is not postgres://user:password@host:port/database; in names and passwords write %40 for '@', %2F for '/', %3F for '?', %23 for '#', %25 for '%'")
	}
	for name := range u.Query() {
		if !slices.Contains(settings, name) {
			return nil, invalid("an unknown setting follows the '?': use " + strings.Join(settings, ", "))
		}
	}
	c, err := pgxpool.ParseConfig(s)
	if err != nil {
		return nil, invalid("a setting has a value that is not known, or names a file that cannot be read")
	}
	if len(c.ConnConfig.Fallbacks) > 0 && strings.Contains(u.Host, ",") && !u.Query().Has("target_session_attrs") {
		c.ConnConfig.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsReadWrite
	}
	if c.ConnConfig.RuntimeParams["application_name"] == "" {
		c.ConnConfig.RuntimeParams["application_name"] = "ingest"
	}
	c.MaxConns = maxConns
	return c, nil
}

// connect makes the pool of connections, without connecting.
func (l *Ledger) connect(ctx context.Context, c *pgxpool.Config) (err error) {
	c.ConnConfig.ConnectTimeout = l.timeout
	c.AfterConnect = func(ctx context.Context, c *pgx.Conn) error {
		var pid uint32
		err := c.QueryRow(ctx, "SELECT pg_backend_pid()", pgx.QueryExecModeExec).Scan(&pid)
		if err == nil && pid != c.PgConn().PID() {
			l.pooled.Store(true) // only a pooler reports another process id
		}
		return err
	}
	l.pool, err = pgxpool.NewWithConfig(ctx, c)
	return err
}

// Close implements quota.Ledger. A server that no longer answers delays it by one time-out.
func (l *Ledger) Close() error {
	closed := make(chan struct{})
	go func() {
		l.pool.Close()
		close(closed)
	}()
	select {
	case <-closed:
	case <-time.After(l.timeout):
	}
	return nil
}

// mode returns how statements are sent: prepared once per connection, unless a pooler may move transactions between
// sessions.
func (l *Ledger) mode() pgx.QueryExecMode {
	if l.pooled.Load() {
		return pgx.QueryExecModeExec
	}
	return pgx.QueryExecModeCacheStatement
}

// with calls do with a connection. If the schema, or part of it, is missing, nothing was done: with then installs it
// and calls do again, or returns errAbsent if do only reads. changes also says that a lost answer leaves do in doubt.
func (l *Ledger) with(ctx context.Context, timeout time.Duration, changes bool, do func(context.Context, *pgxpool.Conn) error) error {
	once := func(within time.Duration, do func(context.Context, *pgxpool.Conn) error) error {
		bounded, cancel := context.WithTimeout(ctx, within)
		defer cancel()
		c, err := l.pool.Acquire(bounded)
		if err != nil {
			return l.explain(ctx, err, false)
		}
		defer c.Release()
		err = do(bounded, c)
		if c.Conn().IsClosed() {
			l.pool.Reset() // the server was likely restarted
		}
		return err
	}
	err := once(timeout, do)
	switch {
	case is(err, noPrepared, samePrepared):
		l.pooled.Store(true)
		err = once(timeout, do)
	case is(err, noSchema, noTable, noFunction):
		if changes {
			err = once(longer*l.timeout, l.install)
		} else {
			err = once(timeout, l.findVersion)
		}
		if err != nil {
			return l.explain(ctx, err, false)
		}
		if err = once(timeout, do); is(err, noSchema, noTable, noFunction) {
			err = corrupt(fmt.Sprintf("schema %s lacks some of what it holds", l.schema))
		}
	}
	return l.explain(ctx, err, changes)
}

// errAbsent says that the schema does not exist yet, so that nothing was ever spent.
var errAbsent = &quotaError{errors.New("the ledger's schema is not there")}
