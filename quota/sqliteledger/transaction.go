package sqliteledger

import (
	"context"
	"database/sql"
	"errors"

	"github.com/trendvidstream/ingest/quota"
)

// statements are the SQL of a charge, prepared once for the writer and once for the readers.
type statements struct {
	account, pools, spender                      *sql.Stmt
	before, reaching, newest, amount             *sql.Stmt
	insert, advance, forget, raise, shift, total *sql.Stmt
	keepAccount, keepPool, keepSpender, drain    *sql.Stmt
}

func (s *statements) prepare(ctx context.Context, db *sql.DB) error {
	for into, text := range map[**sql.Stmt]string{
		&s.account: `SELECT id, horizon FROM accounts WHERE name = ?`,
		&s.pools:   `SELECT id, name, total, number, newest, drained_until, drained_used FROM pools WHERE account = ?`,
		&s.spender: `SELECT id FROM spenders WHERE purpose = ? AND region = ? AND method = ?`,

		// The sum before time ?2 stands in the first entry at or after it.
		&s.before:   `SELECT before, at FROM entries WHERE pool = ? AND at >= ? ORDER BY at, number LIMIT 1`,
		&s.reaching: `SELECT at FROM entries WHERE pool = ? AND at >= ? AND before + amount >= ? ORDER BY at, number LIMIT 1`,
		&s.newest:   `SELECT at, number, spender FROM entries WHERE pool = ? ORDER BY at DESC, number DESC LIMIT 1`,
		&s.amount:   `SELECT amount FROM entries WHERE pool = ? AND at = ? AND number = ?`,

		&s.insert:  `INSERT INTO entries (pool, at, number, before, amount, spender) VALUES (?, ?, ?, ?, ?, ?)`,
		&s.advance: `UPDATE pools SET total = ?, number = ?, newest = ? WHERE id = ?`,
		&s.forget:  `DELETE FROM entries WHERE pool = ? AND at <= ?`,
		&s.raise:   `UPDATE entries SET at = ?, amount = amount + ? WHERE pool = ? AND at = ? AND number = ?`,
		&s.shift:   `UPDATE entries SET before = before + ?1 WHERE pool = ?2 AND (at, number) > (?3, ?4)`,
		&s.total:   `UPDATE pools SET total = total + ? WHERE id = ?`,

		&s.keepAccount: `INSERT INTO accounts (name, horizon) VALUES (?, ?)
			ON CONFLICT (name) DO UPDATE SET horizon = max(horizon, excluded.horizon) RETURNING id, horizon`,
		&s.keepPool:    `INSERT INTO pools (account, name) VALUES (?, ?) RETURNING id`,
		&s.keepSpender: `INSERT INTO spenders (purpose, region, method) VALUES (?, ?, ?) RETURNING id`,
		&s.drain:       `UPDATE pools SET drained_until = ?, drained_used = ? WHERE id = ?`,
	} {
		stmt, err := db.PrepareContext(ctx, text)
		if err != nil {
			return err
		}
		*into = stmt
	}
	return nil
}

// transaction is one look at, or change of, the ledger.
type transaction struct {
	ledger *Ledger
	sql    *statements
	ctx    context.Context //nolint:containedctx // lives as long as the call it belongs to
	tx     *sql.Tx
}

func (l *Ledger) write(ctx context.Context, do func(*transaction) error) error {
	leave, err := l.queue.enter(ctx)
	if err != nil {
		return l.broken("wait for", err)
	}
	defer leave()
	return l.in(ctx, l.writer, &l.writes, do)
}

func (l *Ledger) read(ctx context.Context, do func(*transaction) error) error {
	return l.in(ctx, l.reader, &l.reads, do)
}

func (l *Ledger) in(ctx context.Context, db *sql.DB, prepared *statements, do func(*transaction) error) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return l.broken("begin in", err)
	}
	defer func() { _ = tx.Rollback() }()
	if err := do(&transaction{l, prepared, ctx, tx}); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return l.broken("write", err)
	}
	return nil
}

func (t *transaction) row(s *sql.Stmt, args ...any) *sql.Row {
	return t.tx.StmtContext(t.ctx, s).QueryRowContext(t.ctx, args...)
}

func (t *transaction) exec(s *sql.Stmt, args ...any) error {
	if _, err := t.tx.StmtContext(t.ctx, s).ExecContext(t.ctx, args...); err != nil {
		return t.ledger.broken("write", err)
	}
	return nil
}

// account is an account as the transaction found it; id 0 is one that is not there yet.
type account struct {
	id      int64
	horizon int64 // microseconds
	pools   map[string]*pool
}

type pool struct {
	id           int64
	name         string
	total        int64
	number       int64
	newest       int64
	drainedUntil int64
	drainedUsed  int64
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
	a := &account{pools: map[string]*pool{}}
	err := t.row(t.sql.account, name).Scan(&a.id, &a.horizon)
	if errors.Is(err, sql.ErrNoRows) {
		return a, nil
	}
	if err != nil {
		return nil, t.ledger.broken("read", err)
	}
	rows, err := t.tx.StmtContext(t.ctx, t.sql.pools).QueryContext(t.ctx, a.id)
	if err != nil {
		return nil, t.ledger.broken("read", err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		p := &pool{}
		if err := rows.Scan(&p.id, &p.name, &p.total, &p.number, &p.newest, &p.drainedUntil, &p.drainedUsed); err != nil {
			return nil, t.ledger.broken("read", err)
		}
		a.pools[p.name] = p
	}
	if err := rows.Err(); err != nil {
		return nil, t.ledger.broken("read", err)
	}
	return a, nil
}

// keep makes the rows that a charge needs, and raises the horizon to the ask's.
func (t *transaction) keep(acc *account, a quota.Ask) error {
	if horizon := a.Horizon.Microseconds(); acc.id == 0 || horizon > acc.horizon {
		if err := t.row(t.sql.keepAccount, a.Account, horizon).Scan(&acc.id, &acc.horizon); err != nil {
			return t.ledger.broken("write", err)
		}
	}
	for _, c := range a.Charges {
		p := acc.pool(c.Pool)
		if p.id != 0 {
			continue
		}
		if err := t.row(t.sql.keepPool, acc.id, c.Pool).Scan(&p.id); err != nil {
			return t.ledger.broken("write", err)
		}
	}
	return nil
}

// spender is the id of who, made when it is new.
func (t *transaction) spender(who quota.Who) (int64, error) {
	var id int64
	err := t.row(t.sql.spender, who.Purpose, who.Region, who.Method).Scan(&id)
	if errors.Is(err, sql.ErrNoRows) {
		err = t.row(t.sql.keepSpender, who.Purpose, who.Region, who.Method).Scan(&id)
	}
	if err != nil {
		return 0, t.ledger.broken("write", err)
	}
	return id, nil
}
