package sqliteledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// session is one connection to the file, with the statements that were used on it. It is not for two goroutines at
// once. A transaction that has begun is never cancelled: it takes microseconds, and an outcome that is not known helps
// nobody. Its statements therefore run without the caller's context.
type session struct {
	db    *sql.DB
	conn  *sql.Conn
	stmts map[string]*sql.Stmt // by their text
}

func openSession(dsn string) (*session, error) {
	db, err := sql.Open("sqlite", dsn)
	if err != nil {
		return nil, err
	}
	c, err := db.Conn(context.Background())
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return &session{db: db, conn: c, stmts: map[string]*sql.Stmt{}}, nil
}

func (s *session) close() error {
	if s == nil {
		return nil
	}
	errs := []error{}
	for _, stmt := range s.stmts {
		errs = append(errs, stmt.Close())
	}
	return errors.Join(append(errs, s.conn.Close(), s.db.Close())...)
}

// stmt returns a statement, which is prepared at its first use.
func (s *session) stmt(text string) (*sql.Stmt, error) {
	if stmt, ok := s.stmts[text]; ok {
		return stmt, nil
	}
	stmt, err := s.conn.PrepareContext(context.Background(), text)
	if err != nil {
		return nil, fmt.Errorf("%w in %q", err, text)
	}
	s.stmts[text] = stmt
	return stmt, nil
}

func (s *session) exec(text string, args ...any) (sql.Result, error) {
	stmt, err := s.stmt(text)
	if err != nil {
		return nil, err
	}
	return stmt.ExecContext(context.Background(), args...)
}

// row runs a statement that answers with one row, or sql.ErrNoRows.
func (s *session) row(text string, args []any, into ...any) error {
	stmt, err := s.stmt(text)
	if err != nil {
		return err
	}
	return stmt.QueryRowContext(context.Background(), args...).Scan(into...)
}

// each runs a statement, and do for each row that it answers.
func (s *session) each(text string, args []any, do func(*sql.Rows) error) error {
	stmt, err := s.stmt(text)
	if err != nil {
		return err
	}
	rows, err := stmt.QueryContext(context.Background(), args...)
	if err != nil {
		return err
	}
	for err == nil && rows.Next() {
		err = do(rows)
	}
	return errors.Join(err, rows.Err(), rows.Close())
}
