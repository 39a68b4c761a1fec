package sqliteledger

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/trendvidstream/ingest/quota"
)

// preparedConn is one connection to the file with everything prepared on it, for whoever has its turn. Its
// transactions are plain statements.
type preparedConn struct {
	conn                    *conn
	begin, commit, rollback *stmt
	sql                     statements
}

// open prepares the connection; begin is how its transactions begin.
func (s *preparedConn) open(dsn, begin string) (err error) {
	if s.conn, err = connect(dsn); err != nil {
		return err
	}
	for into, text := range map[**stmt]string{&s.begin: begin, &s.commit: "COMMIT", &s.rollback: "ROLLBACK"} {
		if *into, err = s.conn.prepare(text); err != nil {
			return err
		}
	}
	return s.sql.prepare(s.conn)
}

func (s *preparedConn) close() error {
	if s.conn == nil {
		return nil
	}
	return s.conn.close()
}

// transaction reads or changes the ledger once.
type transaction struct {
	ledger *Ledger
	conn   *conn
	sql    *statements

	changed bool         // something was written that neither the newest entry nor the newest operation shows
	marker  commitMarker // of what was written
	learned []learned    // spenders that exist once this is committed
}

func (l *Ledger) write(ctx context.Context, do func(*transaction) error) error {
	until := l.queue.giveUpAt()
	if err := l.queue.enter(ctx, until); err != nil {
		return l.explain("wait for", err)
	}
	defer l.queue.leave()
	if err := l.checkSameFile(); err != nil {
		return err
	}
	var m commitMarker
	err := l.transact(ctx, &l.writer, until, func(t *transaction) error {
		if err := do(t); err != nil {
			return err
		}
		if t.changed {
			if err := t.returning(t.sql.wrote, &t.marker.writes); err != nil {
				return err
			}
		}
		m = t.marker
		return nil
	})
	if err == nil {
		l.queue.remember(m)
	}
	return err
}

func (l *Ledger) read(ctx context.Context, do func(*transaction) error) error {
	l.reading.Lock()
	defer l.reading.Unlock()
	if err := l.checkSameFile(); err != nil {
		return err
	}
	return l.transact(ctx, &l.reader, time.Time{}, do)
}

// transact runs one transaction. Once begun it is not cancelled: it takes microseconds, and an outcome that
// is not known helps nobody.
func (l *Ledger) transact(ctx context.Context, s *preparedConn, until time.Time, do func(*transaction) error) (err error) {
	if ctx.Err() != nil {
		return l.explain("begin in", context.Cause(ctx))
	}
	begin := func() error { _, err := s.begin.exec(); return err }
	if s == &l.reader {
		err = begin()
	} else {
		err = l.queue.begin(ctx, until, begin)
	}
	if err != nil {
		return l.explain("begin in", err)
	}
	committed := false
	defer func() {
		if !committed {
			_, _ = s.rollback.exec()
		}
	}()
	t := &transaction{ledger: l, conn: s.conn, sql: &s.sql}
	if err := do(t); err != nil {
		return err
	}
	if _, err := s.commit.exec(); err != nil {
		return fmt.Errorf("%w: %w", l.explain("write", err), quota.ErrInDoubt)
	}
	committed = true
	for _, s := range t.learned {
		l.spenders[s.who] = s.id
	}
	return nil
}

// exec runs a statement whose change no newest entry or operation shows.
func (t *transaction) exec(s *stmt, args ...any) error {
	t.changed = true
	return t.run(s, args...)
}

// run runs any other statement.
func (t *transaction) run(s *stmt, args ...any) error {
	if _, err := s.exec(args...); err != nil {
		return t.ledger.explain("write", err)
	}
	return nil
}

// execText executes a statement that runs so seldom that it is not prepared.
func (t *transaction) execText(text string, args ...any) error {
	t.changed = true
	return t.conn.once(text, func(s *stmt) error { return t.run(s, args...) })
}

// each runs such a statement, and do for each row that it answers.
func (t *transaction) each(text string, args []any, do func(*rows) error) error {
	err := t.conn.once(text, func(s *stmt) error {
		rows, err := s.query(args...)
		if err != nil {
			return err
		}
		for err == nil && rows.next() {
			err = do(rows)
		}
		return errors.Join(err, rows.err, rows.close())
	})
	if err != nil {
		return t.ledger.explain("read", err)
	}
	return nil
}

// returning runs a statement that changes one row and returns something of it: sql.ErrNoRows if there
// was none.
func (t *transaction) returning(s *stmt, into any, args ...any) error {
	t.changed = true
	if err := s.row(args, into); err != nil {
		return t.ledger.explain("write", err)
	}
	return nil
}

// account is an account as the transaction found it; id 0 is one that is not there yet.
type account struct {
	id      int64
	horizon int64 // microseconds
	owed    bool  // there are operations that have to be synced into this ledger
	pools   map[string]*pool
}

type pool struct {
	id     int64 // 0 for one that is not there yet
	name   string
	drain  quota.Drain // the last, whether or not it is over
	newest entry       // the zero entry if the log is empty
	total  int64
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
	rows, err := t.sql.account.query(name)
	if err != nil {
		return nil, t.ledger.explain("read", err)
	}
	defer func() { _ = rows.close() }()
	for rows.next() {
		p := &pool{}
		var drainedUntil, drainedAt int64
		err := rows.scan(&a.id, &a.horizon, &a.owed, &p.id, &p.name, &drainedUntil, &p.drain.Used, &p.drain.By, &drainedAt, &p.drain.Probe,
			&p.newest.at, &p.newest.number, &p.total, &p.newest.amount, &p.newest.spender)
		if err != nil {
			return nil, t.ledger.explain("read", err)
		}
		p.drain.Until, p.drain.At = timeOrZero(drainedUntil), timeOrZero(drainedAt)
		a.pools[p.name] = p
	}
	if rows.err != nil {
		return nil, t.ledger.explain("read", rows.err)
	}
	return a, nil
}

// ensureRows makes the rows that a charge needs, and raises the horizon to the ask's.
func (t *transaction) ensureRows(acc *account, a quota.Ask) error {
	if horizon := a.Horizon.Microseconds(); acc.id == 0 || horizon > acc.horizon {
		isNew := acc.id == 0
		if err := t.sql.keepAccount.row([]any{a.Account, horizon}, &acc.id, &acc.horizon); err != nil {
			return t.ledger.explain("write", err)
		}
		t.changed = true
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
		if err := t.returning(t.sql.keepPool, &p.id, acc.id, c.Pool); err != nil {
			return err
		}
	}
	return nil
}

// spenderID returns the id of who, and makes one for a new spender. Ids never change, so that those once committed are
// remembered.
func (t *transaction) spenderID(who quota.Who) (int64, error) {
	if id, ok := t.ledger.spenders[who]; ok {
		return id, nil
	}
	var id int64
	if err := t.sql.keepWho.row([]any{who.Purpose, who.Region, who.Method}, &id); err != nil {
		return 0, t.ledger.explain("write", err)
	}
	t.learned = append(t.learned, learned{who, id})
	return id, nil
}

type learned struct {
	who quota.Who
	id  int64
}
