package sqliteledger

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/trendvidstream/ingest/quota"
)

// transaction reads or changes the ledger once.
type transaction struct {
	*session

	ledger  *Ledger
	writes  int64     // the file's count of transactions before this one; 0: not read yet
	changed bool      // something was written
	learned []learned // spenders that exist once this is committed
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
	if err != nil || !changed {
		return err
	}
	l.queue.writeMark(m)
	if m.writes%checkpointEvery == 0 { // what it did not get done is left to the next
		_ = l.checkpoint(func() error { _, err := l.writer.exec("PRAGMA wal_checkpoint(PASSIVE)"); return err })
	}
	return nil
}

// read runs one transaction that changes nothing. It waits for nobody, unless the file seems to have changed: then in
// its turn, so that no checkpoint is under way.
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

// transact runs one transaction.
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
	for _, s := range t.learned {
		l.spenders[s.who] = s.id
	}
	return nil
}

// run runs a statement that changes something.
func (t *transaction) run(text string, args ...any) error {
	t.changed = true
	if _, err := t.exec(text, args...); err != nil {
		return t.ledger.explain("write", err)
	}
	return nil
}

// returning runs a statement that changes one row and returns something of it: sql.ErrNoRows if there was none.
func (t *transaction) returning(text string, args []any, into ...any) error {
	t.changed = true
	if err := t.row(text, args, into...); err != nil {
		return t.ledger.explain("write", err)
	}
	return nil
}

// read runs a statement, and do for each row that it answers.
func (t *transaction) read(text string, args []any, do func(*sql.Rows) error) error {
	err := t.each(text, args, do)
	if err == nil || errors.Is(err, quota.ErrCorrupt) { // which do has found
		return err
	}
	return t.ledger.explain("read", err)
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
	err := t.read(sqlAccount, []any{name}, func(rows *sql.Rows) error {
		p := &pool{}
		var drainedUntil, drainedAt int64
		err := rows.Scan(&t.writes, &a.id, &a.horizon, &a.owed, &p.id, &p.name, &drainedUntil, &p.drain.Used, &p.drain.By, &drainedAt, &p.drain.Probe,
			&p.newest.at, &p.newest.number, &p.total, &p.newest.amount, &p.newest.spender)
		p.drain.Until, p.drain.At = timeOrZero(drainedUntil), timeOrZero(drainedAt)
		a.pools[p.name] = p
		return err
	})
	return a, err
}

// ensureRows makes the rows that a charge needs, and raises the horizon to the ask's.
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

// spenderID returns the id of who, and makes one for a new spender. Ids never change, so that those once committed are
// remembered.
func (t *transaction) spenderID(who quota.Who) (int64, error) {
	if id, ok := t.ledger.spenders[who]; ok {
		return id, nil
	}
	var id int64
	if err := t.returning(sqlKeepSpender, []any{who.Purpose, who.Region, who.Method, who.Client}, &id); err != nil {
		return 0, err
	}
	t.learned = append(t.learned, learned{who, id})
	return id, nil
}

type learned struct {
	who quota.Who
	id  int64
}
