package sqliteledger

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"

	sqlite3 "modernc.org/sqlite/lib"

	"github.com/trendvidstream/ingest/internal/sqlitefile"
	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/sharedledger"
)

// transaction is one read or change of the ledger.
type transaction struct {
	*session

	ledger  *Ledger
	writes  int64 // the file's count of transactions before this one; 0: not read yet
	changed bool  // something was written
}

// checkpointEvery is how many writing transactions of all processes pass between two checkpoints.
const checkpointEvery = 256

// write runs one transaction that changes the file, in this writer's turn.
func (l *Ledger) write(ctx context.Context, do func(*transaction) error) error {
	until := l.queue.giveUpAt()
	if err := l.queue.enter(ctx, until); err != nil {
		return l.explain("wait for", err)
	}
	defer l.queue.leave()
	m := l.queue.readMark()
	if err := l.checkFile(m); err != nil {
		return err
	}
	begin := func() error {
		return l.queue.begin(ctx, until, func() error { _, err := l.writer.exec("BEGIN IMMEDIATE"); return err })
	}
	changed := false
	err := l.transact(ctx, l.writer, begin, func(t *transaction) error {
		err := do(t)
		if err := t.checkCount(m); err != nil {
			return err
		}
		if err != nil || !t.changed {
			return err
		}
		changed, m.writes = true, t.writes+1
		return t.run(sqlWrote, m.writes)
	})
	if err != nil {
		clear(l.spenders) // the transaction's new ids do not exist
	}
	if err != nil || !changed {
		return err
	}
	l.queue.writeMark(m)
	if m.writes%checkpointEvery == 0 { // the next one finishes the rest
		_ = l.checkpoint(func() error { _, err := l.writer.exec("PRAGMA wal_checkpoint(PASSIVE)"); return err })
	}
	return nil
}

// writeAccount is write with an account as the transaction finds it.
func (l *Ledger) writeAccount(ctx context.Context, name string, do func(*transaction, *account) error) error {
	return l.write(ctx, func(t *transaction) error {
		acc, err := t.account(name)
		if err != nil {
			return err
		}
		return do(t, acc)
	})
}

// read runs one transaction that changes nothing. It does not wait, unless the file seems changed: then it waits for
// its turn, when no checkpoint runs.
func (l *Ledger) read(ctx context.Context, do func(*transaction) error) error {
	l.reading.Lock()
	defer l.reading.Unlock()
	err := l.readOnce(ctx, do)
	if !errors.Is(err, errChanged) && !errors.Is(err, quota.ErrCorrupt) {
		return err
	}
	if err := l.queue.enter(ctx, l.queue.giveUpAt()); err != nil {
		return l.explain("wait for", err)
	}
	defer l.queue.leave()
	return l.readOnce(ctx, do)
}

func (l *Ledger) readOnce(ctx context.Context, do func(*transaction) error) error {
	m := l.queue.readMark() // before the file is read, since others may write meanwhile
	if err := l.checkFile(m); err != nil {
		return err
	}
	begin := func() error { _, err := l.reader.exec("BEGIN"); return err }
	return l.transact(ctx, l.reader, begin, func(t *transaction) error {
		err := do(t)
		return cmp.Or(t.checkCount(m), err)
	})
}

func (l *Ledger) transact(ctx context.Context, s *session, begin func() error, do func(*transaction) error) error {
	if ctx.Err() != nil {
		return l.explain("begin in", context.Cause(ctx))
	}
	if err := begin(); err != nil {
		return l.explain("begin in", err)
	}
	committed := false
	defer func() {
		if !committed {
			_, _ = s.exec("ROLLBACK")
		}
	}()
	t := &transaction{ledger: l, session: s}
	if err := do(t); err != nil {
		return err
	}
	if _, err := s.exec("COMMIT"); err != nil {
		return fmt.Errorf("%w: %w", l.explain("write", err), quota.ErrInDoubt)
	}
	committed = true
	return nil
}

func (t *transaction) run(text string, args ...any) error {
	_, _, err := t.change(text, args...)
	return err
}

// change is run, and returns how many rows were changed, and the id of the row that was inserted.
func (t *transaction) change(text string, args ...any) (changed, id int64, err error) {
	result, err := t.exec(text, args...)
	if err != nil {
		return 0, 0, t.ledger.explain("write", err)
	}
	changed, err = result.RowsAffected()
	t.changed = t.changed || changed > 0
	id, _ = result.LastInsertId() // it never fails
	return changed, id, err
}

// returning runs a statement that changes one row and returns values of it, or sql.ErrNoRows.
func (t *transaction) returning(text string, args []any, into ...any) error {
	t.changed = true
	return t.row(text, args, into...)
}

// row runs a statement that answers with one row, or sql.ErrNoRows.
func (t *transaction) row(text string, args []any, into ...any) error {
	if err := t.session.row(text, args, into...); err != nil {
		return t.ledger.explain("read", err)
	}
	return nil
}

func (t *transaction) read(text string, args []any, do func(*sql.Rows) error) error {
	err := t.each(text, args, do)
	if err == nil || errors.Is(err, quota.ErrCorrupt) { // found by do
		return err
	}
	return t.ledger.explain("read", err)
}

// list returns the rows of a query, each as scan reads it.
func list[T any](t *transaction, text string, args []any, scan func(*sql.Rows) (T, error)) (all []T, err error) {
	err = t.read(text, args, func(rows *sql.Rows) error {
		one, err := scan(rows)
		all = append(all, one)
		return err
	})
	return all, err
}

// account is an account as the transaction found it; its id is 0 if it does not exist yet.
type account struct {
	id      int64
	horizon int64 // microseconds
	owed    bool  // operations must be entered into this ledger
	pools   map[string]*pool
}

type pool struct {
	id      int64 // 0 if it does not exist yet
	name    string
	drain   quota.Drain // the last one, even if it is over
	newest  entry       // the zero entry if the log is empty
	carried int64       // entries up to this number are in the journal too
	total   int64
}

// entry names one entry of a log.
type entry struct {
	at, number int64
	amount     int64 // 0 once given back
	spender    int64
}

func (a *account) pool(name string) *pool {
	p, ok := a.pools[name]
	if !ok {
		p = &pool{name: name}
		a.pools[name] = p
	}
	return p
}

func (t *transaction) account(name string) (*account, error) {
	a := &account{owed: true, pools: map[string]*pool{}} // until it is read
	err := t.read(sqlAccount, []any{name}, func(rows *sql.Rows) error {
		p := &pool{}
		var drainedUntil, drainedAt int64
		err := rows.Scan(&t.writes, &a.id, &a.horizon, &a.owed, &p.id, &p.name, &drainedUntil,
			&p.drain.Used, &p.drain.By, &drainedAt, &p.drain.Probe, &p.carried,
			&p.newest.at, &p.newest.number, &p.total, &p.newest.amount, &p.newest.spender)
		p.drain.Until, p.drain.At = timeOrZero(drainedUntil), timeOrZero(drainedAt)
		a.pools[p.name] = p
		return err
	})
	return a, err
}

// ensureRows creates the rows that a charge needs, and raises the horizon to the horizon of the ask.
func (t *transaction) ensureRows(acc *account, a quota.Ask) error {
	if horizon := a.Horizon.Microseconds(); acc.id == 0 || horizon > acc.horizon {
		isNew := acc.id == 0
		if err := t.returning(sqlKeepAccount, []any{a.Account, horizon}, &acc.id, &acc.horizon); err != nil {
			return err
		}
		if isNew {
			if err := t.forgetIdle(acc.id); err != nil {
				return err
			}
		}
	}
	for _, c := range a.Charges {
		p := acc.pool(c.Pool)
		if p.id != 0 {
			continue
		}
		if err := t.returning(sqlKeepPool, []any{acc.id, c.Pool}, &p.id); err != nil {
			return err
		}
	}
	return nil
}

// spenderID returns the id of who, a new one if needed. Ids never change, and are cached unless their transaction
// fails.
func (t *transaction) spenderID(who quota.Who) (int64, error) {
	if id, ok := t.ledger.spenders[who]; ok {
		return id, nil
	}
	var id int64
	if err := t.returning(sqlKeepSpender, []any{who.Purpose, who.Region, who.Method, who.Client}, &id); err != nil {
		return 0, err
	}
	t.ledger.spenders[who] = id
	return id, nil
}

// session is one connection to the file with its prepared statements, for one goroutine at a time. A transaction that
// has begun is never cancelled, since it takes microseconds and an unknown outcome helps no caller. So its statements
// run without the caller's context.
type session struct {
	db        *sql.DB                      // of one connection
	stmts     map[string]*sql.Stmt         // by text
	snapshots []sharedledger.UsageSnapshot // of a journal, read or written last
	text      string                       // of these
}

func openSession(path string, params ...string) (*session, error) {
	db, err := sqlitefile.Open(path, 1, params...)
	return &session{db: db, stmts: map[string]*sql.Stmt{}}, err
}

func (s *session) close() error {
	if s == nil {
		return nil
	}
	errs := []error{}
	for _, stmt := range s.stmts {
		errs = append(errs, stmt.Close())
	}
	return errors.Join(append(errs, s.db.Close())...)
}

// stmt returns a statement, which is prepared at its first use.
func (s *session) stmt(text string) (*sql.Stmt, error) {
	if stmt, ok := s.stmts[text]; ok {
		return stmt, nil
	}
	stmt, err := s.db.PrepareContext(context.Background(), text)
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

// each runs a query, and do on each row.
func (s *session) each(text string, args []any, do func(*sql.Rows) error) error {
	stmt, err := s.stmt(text)
	if err != nil {
		return err
	}
	rows, err := stmt.QueryContext(context.Background(), args...)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }() // also if do panics: the rollback waits for their connection
	for err == nil && rows.Next() {
		err = do(rows)
	}
	return errors.Join(err, rows.Err())
}

// explain wraps an error of SQLite in the corresponding error of package quota, with the cure.
func (l *Ledger) explain(doing string, err error) error {
	hint, code := "", sqlitefile.Code(err)
	if errors.Is(err, sql.ErrNoRows) {
		code = sqlite3.SQLITE_CORRUPT
	}
	switch code {
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_MISMATCH, sqlite3.SQLITE_CONSTRAINT:
		return &DamagedError{l.path, sqlitefile.Explain(l.path, err)}
	case sqlite3.SQLITE_FULL:
		hint = ": make room on its disk"
	case sqlite3.SQLITE_IOERR:
		hint = ": is its disk full, or broken?"
	case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM:
		hint = ": check that it and its directory may be written"
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		hint = ": another program holds it open"
	}
	return fmt.Errorf("%w: %s %s: %w%s", quota.ErrUnavailable, doing, l.path, sqlitefile.Explain(l.path, err), hint)
}

// DamagedError is a quota.ErrCorrupt or quota.ErrOlderCopy that names the file.
type DamagedError struct {
	Path string
	Err  error // the damage that was found
}

func (e *DamagedError) Error() string {
	return fmt.Sprintf("%v: %s: %v: put its newest copy back, or move it away", quota.ErrCorrupt, e.Path, e.Err)
}

func (e *DamagedError) Unwrap() []error { return []error{quota.ErrCorrupt, e.Err} }
