package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"regexp"
)

// txn is a transaction. While a query's rows are being read, it must not run the same query again: see preparedConn.
type txn = sql.Tx

// preparing makes connections that keep repeated statements prepared. database/sql would prepare them each time: then
// a pass over eight regions takes 1.8 times the CPU time, and a search 1.2 ms more.
type preparing struct{ driver.Connector }

// Connect implements driver.Connector.
func (p preparing) Connect(ctx context.Context) (driver.Conn, error) {
	c, err := p.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	own, ok := c.(sqliteConn)
	if !ok {
		return nil, errors.Join(fmt.Errorf("%T is no connection to SQLite", c), c.Close())
	}
	return &preparedConn{sqliteConn: own, known: map[string]driver.Stmt{}}, nil
}

type sqliteConn interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.ExecerContext
	driver.QueryerContext
	driver.SessionResetter
	driver.Validator
}

// preparedConn prepares a statement on its second use, and keeps it.
type preparedConn struct {
	sqliteConn

	known map[string]driver.Stmt // nil: used once
	kept  any                    // of the reader: see viewKept
}

// keeps returns where a reader keeps values between its transactions.
func (c *preparedConn) keeps() *any { return &c.kept }

// keptStatements is how many statements a connection keeps.
const keptStatements = 100

// boundLimit matches a limit that is an argument. SQLite plans a statement anew each time such a limit is bound, which
// takes longer than most statements, but not if the limit is a sum.
var boundLimit = regexp.MustCompile(`\b(LIMIT|OFFSET) \?\d*`)

// prepared returns a statement's prepared form, nil if it has none or is invalid, which running it reports.
func (c *preparedConn) prepared(ctx context.Context, query string) driver.Stmt {
	stmt, again := c.known[query]
	if stmt == nil && (again || len(c.known) < keptStatements) {
		if again {
			made, err := c.PrepareContext(ctx, boundLimit.ReplaceAllString(query, "$0 + 0"))
			if err == nil { // made is not nil after an error either
				stmt = made
			}
		}
		c.known[query] = stmt
	}
	return stmt
}

// ExecContext implements driver.ExecerContext.
func (c *preparedConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	if stmt, ok := c.prepared(ctx, query).(driver.StmtExecContext); ok {
		return stmt.ExecContext(ctx, args)
	}
	return c.sqliteConn.ExecContext(ctx, query, args)
}

// QueryContext implements driver.QueryerContext.
func (c *preparedConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	if stmt, ok := c.prepared(ctx, query).(driver.StmtQueryContext); ok {
		return stmt.QueryContext(ctx, args)
	}
	return c.sqliteConn.QueryContext(ctx, query, args)
}

// Close implements driver.Conn.
func (c *preparedConn) Close() error {
	for _, stmt := range c.known {
		if stmt != nil {
			_ = stmt.Close()
		}
	}
	return c.sqliteConn.Close()
}
