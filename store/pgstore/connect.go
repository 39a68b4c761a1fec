package pgstore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"maps"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
)

// connector makes connections that translate package store's SQL, and begin transactions with begin.
type connector struct {
	driver.Connector

	begin string
}

// pool opens a pool of at most n connections with these settings; the URL's own settings take precedence.
func pool(c *pgx.ConnConfig, n int, settings map[string]string, begin string) *sql.DB {
	c = c.Copy()
	settings = maps.Clone(settings)
	maps.Copy(settings, c.RuntimeParams)
	c.RuntimeParams = settings
	db := sql.OpenDB(connector{stdlib.GetConnector(*c), begin})
	db.SetMaxOpenConns(n)
	db.SetMaxIdleConns(n)
	return db
}

// Connect implements driver.Connector.
func (c connector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, unreachable(err)
	}
	own, ok := conn.(*stdlib.Conn)
	if !ok {
		return nil, fmt.Errorf("%T is no connection to Postgres", conn)
	}
	return &connection{own, c.begin}, nil
}

// asIs marks a script of statements without arguments, which is not translated.
const asIs = "-- as it is\n"

// connection is a connection that translates statements.
type connection struct {
	*stdlib.Conn

	begin string
}

var (
	_ driver.ConnBeginTx       = (*connection)(nil)
	_ driver.ExecerContext     = (*connection)(nil)
	_ driver.NamedValueChecker = (*connection)(nil)
	_ driver.QueryerContext    = (*connection)(nil)
)

// CheckNamedValue converts arguments to a few types, as for SQLite, since Postgres reads an argument by its type.
func (c *connection) CheckNamedValue(v *driver.NamedValue) (err error) {
	v.Value, err = driver.DefaultParameterConverter.ConvertValue(v.Value)
	return err
}

// ExecContext implements driver.ExecerContext.
func (c *connection) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	if script, ok := strings.CutPrefix(query, asIs); ok {
		return driver.ResultNoRows, c.simple(ctx, script)
	}
	if query, args = translate(query, args); query == "" {
		return driver.RowsAffected(0), nil
	}
	return c.Conn.ExecContext(ctx, query, args)
}

// QueryContext implements driver.QueryerContext.
func (c *connection) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	query, args = translate(query, args)
	return c.Conn.QueryContext(ctx, query, args)
}

// PrepareContext hides the embedded method, which would not translate. It is never called: package store
// prepares nothing for an engine, and pgx itself prepares repeated statements.
func (c *connection) PrepareContext(context.Context, string) (driver.Stmt, error) {
	return nil, errors.New("package store prepares nothing in PostgreSQL")
}

// BeginTx implements driver.ConnBeginTx, in one round trip.
func (c *connection) BeginTx(ctx context.Context, _ driver.TxOptions) (driver.Tx, error) {
	if err := c.simple(ctx, c.begin); err != nil {
		return nil, errors.Join(err, transaction{c, context.WithoutCancel(ctx)}.Rollback())
	}
	return transaction{c, context.WithoutCancel(ctx)}, nil
}

// simple runs statements without arguments, in one round trip.
func (c *connection) simple(ctx context.Context, statements string) error {
	pg := c.Conn.Conn().PgConn()
	if pg.IsClosed() {
		return driver.ErrBadConn
	}
	return pg.Exec(ctx, statements).Close()
}

type transaction struct {
	c   *connection
	ctx context.Context
}

// Commit implements driver.Tx. Postgres answers COMMIT with ROLLBACK if a statement of the transaction has failed.
func (t transaction) Commit() error {
	pg := t.c.Conn.Conn().PgConn()
	if pg.TxStatus() == 'E' {
		return errors.Join(pgx.ErrTxCommitRollback, t.Rollback())
	}
	return t.end("COMMIT")
}

// Rollback implements driver.Tx.
func (t transaction) Rollback() error {
	if t.c.Conn.Conn().PgConn().IsClosed() {
		return nil // the server has rolled it back, or will
	}
	return t.end("ROLLBACK")
}

// end ends the transaction even if its context is over, and waits at most endFor for the answer.
func (t transaction) end(statement string) error {
	ctx, cancel := context.WithTimeout(t.ctx, endFor)
	defer cancel()
	err := t.c.simple(ctx, statement)
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return unavailable{fmt.Errorf("%s: no answer within %v: %w", statement, endFor, err)}
	}
	return err
}
