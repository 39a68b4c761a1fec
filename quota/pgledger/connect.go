package pgledger

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/trendvidstream/ingest/internal/postgres"
	"github.com/trendvidstream/ingest/quota"
)

// maxConns bounds the connections of one process: an operation takes about a millisecond.
const maxConns = 8

// longer is how many time-outs a sync may take, since it may have 100,000 rows. Making the schema may take as many,
// since many hosts may make it at once.
const longer = 20

// connectTrips is how many time-outs connecting may take: each of its round trips may take one. With TLS and a
// password there are seven.
const connectTrips = 8

// mostTrips is how many round trips an operation may need, including the preparation of its statements.
const mostTrips = 32

// Parse reads a URL as package postgres does. If the URL names several hosts, the one that accepts writes is used. An
// error never quotes the URL, which may hold a password.
func Parse(s string) (*pgxpool.Config, error) {
	c, err := postgres.Parse(s)
	if err != nil {
		return nil, fmt.Errorf("the ledger's URL has something %w: %w", quota.ErrUnknown, err)
	}
	if severalHosts(c.ConnConfig) && !strings.Contains(s, "target_session_attrs=") {
		c.ConnConfig.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsReadWrite
	}
	if c.ConnConfig.RuntimeParams["application_name"] == "" {
		c.ConnConfig.RuntimeParams["application_name"] = "ingest"
	}
	c.MaxConns = maxConns
	return c, nil
}

// severalHosts reports whether the fallbacks are other servers, and not the same one without TLS.
func severalHosts(c *pgx.ConnConfig) bool {
	return slices.ContainsFunc(c.Fallbacks,
		func(f *pgconn.FallbackConfig) bool { return f.Host != c.Host || f.Port != c.Port })
}

// connect makes the pool of connections, without connecting.
func (l *Ledger) connect(ctx context.Context, c *pgxpool.Config) (err error) {
	c.ConnConfig.ConnectTimeout, c.PingTimeout = connectTrips*l.timeout, l.timeout
	c.ConnConfig.DialFunc = postgres.Impatient(c.ConnConfig.DialFunc, l.timeout, true)
	c.AfterConnect = func(ctx context.Context, c *pgx.Conn) error {
		ctx, cancel := context.WithTimeout(ctx, 2*l.timeout)
		defer cancel()
		var pid uint32
		asked := time.Now()
		err := c.QueryRow(ctx, "SELECT pg_backend_pid()", pgx.QueryExecModeExec).Scan(&pid)
		l.roundTrip.Store(int64(time.Since(asked)))
		if err == nil && pid != c.PgConn().PID() {
			l.pooled.Store(true) // only a pooler reports another process id
		} else if err == nil { // whatever the role's default: a waiter for the lock must see the writes made meanwhile
			_, err = c.Exec(ctx, "SET default_transaction_isolation = 'read committed'", pgx.QueryExecModeExec)
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
func (l *Ledger) with(ctx context.Context, timeout time.Duration, changes bool,
	do func(context.Context, *pgxpool.Conn) error) error {
	once := func(within time.Duration, do func(context.Context, *pgxpool.Conn) error) error {
		connecting, cancel := context.WithTimeout(ctx, connectTrips*l.timeout)
		defer cancel()
		c, err := l.pool.Acquire(connecting)
		if err != nil {
			return l.explain(ctx, err, false)
		}
		defer c.Release()
		bounded, cancel := context.WithTimeout(ctx, within+mostTrips*time.Duration(l.roundTrip.Load()))
		defer cancel()
		err = do(bounded, c)
		if c.Conn().IsClosed() {
			l.pool.Reset() // the server was likely restarted
		}
		return err
	}
	err := once(timeout, do)
	for until := time.Now().Add(timeout); is(err, serialization) && time.Now().Before(until); { // nothing was done
		err = once(timeout, do)
	}
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
			err = corrupt(fmt.Sprintf("schema %s lacks some of its objects", l.schema))
		}
	}
	return l.explain(ctx, err, changes)
}

// errAbsent says that the schema does not exist yet, so that nothing was ever spent.
var errAbsent = &quotaError{errors.New("the ledger's schema is not there")}
