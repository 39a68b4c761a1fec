package sqliteledger

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"reflect"
)

// conn is one connection to the file by the driver itself: what database/sql does around each statement is half of
// what a take allocates, and a connection that never changes hands needs none of it. It is not for use by two
// goroutines at once.
type conn struct {
	driver driver.Conn
	args   []driver.NamedValue // of the statement that is run, to be used again
	stmts  []*stmt             // to be closed before the connection: SQLite keeps it, and its log, for their sake
}

// stmt is a prepared statement. One run of it ends before the next begins.
type stmt struct {
	conn *conn
	stmt interface {
		driver.Stmt
		driver.StmtExecContext
		driver.StmtQueryContext
	}
	rows rows // of the run
}

func connect(dsn string) (*conn, error) {
	db, err := sql.Open("sqlite", dsn)
	if err != nil {
		return nil, err
	}
	defer func() { _ = db.Close() }() // it has connected nowhere
	c, err := db.Driver().Open(dsn)
	if err != nil {
		return nil, err
	}
	return &conn{driver: c}, nil
}

func (c *conn) close() error {
	var errs []error
	for _, s := range c.stmts {
		errs = append(errs, s.stmt.Close())
	}
	return errors.Join(append(errs, c.driver.Close())...)
}

// prepare makes a statement that lasts as long as the connection.
func (c *conn) prepare(text string) (*stmt, error) {
	s := &stmt{conn: c}
	prepared, err := c.driver.Prepare(text)
	if err != nil {
		return nil, fmt.Errorf("%w in %q", err, text)
	}
	s.stmt = prepared.(interface { //nolint:forcetypeassert // it is the driver that this file is written for
		driver.Stmt
		driver.StmtExecContext
		driver.StmtQueryContext
	})
	c.stmts = append(c.stmts, s)
	return s, nil
}

// once makes a statement for one run, after which it is closed.
func (c *conn) once(text string, run func(*stmt) error) error {
	s, err := c.prepare(text)
	if err != nil {
		return err
	}
	c.stmts = c.stmts[:len(c.stmts)-1]
	return errors.Join(run(s), s.stmt.Close())
}

// exec runs a statement that needs no argument and has no answer.
func (c *conn) exec(text string) error {
	return c.once(text, func(s *stmt) error { _, err := s.exec(); return err })
}

// bind returns the arguments as the driver takes them. It has copied them when the statement has begun.
func (c *conn) bind(args []any) ([]driver.NamedValue, error) {
	c.args = c.args[:0]
	for i, a := range args {
		switch a.(type) {
		case int64, string:
		default:
			var err error
			if a, err = driver.DefaultParameterConverter.ConvertValue(a); err != nil {
				return nil, err
			}
		}
		c.args = append(c.args, driver.NamedValue{Ordinal: i + 1, Value: a})
	}
	return c.args, nil
}

func (s *stmt) exec(args ...any) (driver.Result, error) {
	bound, err := s.conn.bind(args)
	if err != nil {
		return nil, err
	}
	return s.stmt.ExecContext(context.Background(), bound)
}

func (s *stmt) query(args ...any) (*rows, error) {
	bound, err := s.conn.bind(args)
	if err != nil {
		return nil, err
	}
	s.rows.err = nil
	s.rows.rows, err = s.stmt.QueryContext(context.Background(), bound)
	return &s.rows, err
}

// row runs a statement that answers with one row, or sql.ErrNoRows.
func (s *stmt) row(args []any, into ...any) error {
	r, err := s.query(args...)
	if err != nil {
		return err
	}
	switch {
	case r.next():
		err = r.scan(into...)
	case r.err != nil:
		err = r.err
	default:
		err = sql.ErrNoRows
	}
	if closed := r.close(); err == nil {
		err = closed
	}
	return err
}

// rows is what a statement answers.
type rows struct {
	rows   driver.Rows
	values []driver.Value
	err    error // why there is no next row; nil: that was all
}

func (r *rows) next() bool {
	if n := len(r.rows.Columns()); len(r.values) != n {
		r.values = make([]driver.Value, n)
	}
	if err := r.rows.Next(r.values); !errors.Is(err, io.EOF) {
		r.err = err
		return err == nil
	}
	return false
}

// scan puts the columns where they belong: no column is NULL.
func (r *rows) scan(into ...any) error {
	if len(into) != len(r.values) {
		return fmt.Errorf("%d columns, and %d places for them", len(r.values), len(into))
	}
	for i, v := range r.values {
		switch p := into[i].(type) {
		case *int64:
			if n, ok := v.(int64); ok {
				*p = n
				continue
			}
		case *string:
			if s, ok := v.(string); ok {
				*p = s
				continue
			}
		default:
			if put(reflect.ValueOf(p).Elem(), v) {
				continue
			}
		}
		return fmt.Errorf("column %d: %T does not fit into %T", i, v, into[i])
	}
	return nil
}

// put is for types of our own, and reports whether the value fits.
func put(into reflect.Value, v driver.Value) bool {
	n, isNumber := v.(int64)
	s, isText := v.(string)
	switch {
	case isNumber && into.Kind() == reflect.Bool:
		into.SetBool(n != 0)
	case isNumber && into.CanInt():
		into.SetInt(n)
	case isText && into.Kind() == reflect.String:
		into.SetString(s)
	default:
		return false
	}
	return true
}

func (r *rows) close() error { return r.rows.Close() }
