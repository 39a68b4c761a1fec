package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"sync/atomic"

	"modernc.org/sqlite"

	"github.com/trendvidstream/ingest/internal/sqlitefile"
)

// CountReads counts the statements of all later reads.
func (s *Store) CountReads() (*atomic.Int64, error) {
	c, err := sqlite.NewConnector(sqlitefile.DSN(s.path, s.reading("_query_only=1", "_dqs=0", "_error_rc=1")...))
	if err != nil {
		return nil, err
	}
	n := new(atomic.Int64)
	before := s.read
	s.read = sql.OpenDB(counting{preparing{c}, n})
	return n, before.Close()
}

type counting struct {
	preparing
	statements *atomic.Int64
}

func (c counting) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.preparing.Connect(ctx)
	own, ok := conn.(*preparedConn)
	if !ok {
		return nil, errors.Join(err, errors.New("no prepared connection"))
	}
	return &countedConn{own, c.statements}, err
}

type countedConn struct {
	*preparedConn
	statements *atomic.Int64
}

func (c *countedConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	c.statements.Add(1)
	return c.preparedConn.QueryContext(ctx, query, args)
}

// PreparedTwice calls f with two ways to run a query again and again: as a connection of the store does, and as SQLite
// runs a statement that it has prepared as it is.
func (s *Store) PreparedTwice(ctx context.Context, query string, f func(kept, plain func(args ...driver.NamedValue) error) error) error {
	conn, err := s.read.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	return conn.Raw(func(c any) error {
		own, ok := c.(*preparedConn)
		if !ok {
			return errors.New("no prepared connection")
		}
		stmt, err := own.PrepareContext(ctx, query)
		if err != nil {
			return err
		}
		defer func() { _ = stmt.Close() }()
		plain, ok := stmt.(driver.StmtQueryContext)
		if !ok {
			return errors.New("a statement without a context")
		}
		drain := func(rows driver.Rows, err error) error {
			if err != nil {
				return err
			}
			return rows.Close()
		}
		return f(func(args ...driver.NamedValue) error { return drain(own.QueryContext(ctx, query, args)) },
			func(args ...driver.NamedValue) error { return drain(plain.QueryContext(ctx, args)) })
	})
}
