package pgledger

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/trendvidstream/ingest/quota"
)

//go:embed sql/schema.sql
var schemaSQL string

const version = 1

// ask runs one statement, which is a transaction of its own: again if the schema had to be made, or a prepared
// statement was not there. changes says that a lost answer leaves it in doubt.
func (l *Ledger) ask(ctx context.Context, sql string, values [][]byte, prepared, changes bool) (rows [][][]byte, err error) {
	err = l.with(ctx, l.timeout, changes, func(ctx context.Context, c *conn) error {
		if prepared {
			rows, err = l.conns.runPrepared(ctx, c, sql, values)
		} else {
			rows, err = l.conns.run(ctx, c, sql, values)
		}
		return err
	})
	return rows, err
}

// with calls do with a connection. If the server says that it has none of what the ledger needs, and so that nothing
// was done, with makes that and calls do again; if do changes nothing, with returns errAbsent instead.
func (l *Ledger) with(ctx context.Context, timeout time.Duration, changes bool, do func(context.Context, *conn) error) error {
	bounded, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	once := func(do func(context.Context, *conn) error) error {
		c, err := l.conns.get(bounded)
		if err != nil {
			return err
		}
		defer l.conns.put(c)
		return do(bounded, c)
	}
	err := once(do)
	switch {
	case is(err, noPrepared, samePrepared):
		l.conns.pooled.Store(true)
		err = once(do)
	case is(err, noSchema, noTable, noFunction):
		prepare := l.install
		if !changes {
			prepare = l.checkVersion
		}
		if err := once(prepare); err != nil {
			return l.explain(ctx, err, false)
		}
		if err = once(do); is(err, noSchema, noTable, noFunction) {
			err = corrupt(fmt.Sprintf("schema %s lacks some of what it holds", l.schema))
		}
	}
	return l.explain(ctx, err, changes)
}

// errAbsent is a schema that is not there yet: nothing was ever spent.
var errAbsent = &quotaError{errors.New("the ledger's schema is not there")}

// checkVersion says whose schema it is that lacks something: errAbsent if there is none. One of this version may have
// been made a moment ago.
func (l *Ledger) checkVersion(ctx context.Context, c *conn) error {
	rows, err := l.conns.run(ctx, c, l.sql("SELECT version FROM {schema}.ledger"), nil)
	switch {
	case is(err, noSchema, noTable):
		return errAbsent
	case err != nil:
		return err
	case len(rows) != 1 || string(rows[0][0]) == strconv.Itoa(version):
		return nil
	}
	return saying(quota.ErrNewer, "schema %s is of version %s, this program knows version %d: update it", l.schema, rows[0][0], version)
}

// install makes the schema, if nobody else does so at the same time.
func (l *Ledger) install(ctx context.Context, c *conn) error {
	if err := l.checkVersion(ctx, c); !errors.Is(err, errAbsent) {
		return err
	}
	take := l.sql(takeSQL)
	look := strings.NewReplacer("{function}", "look_1", "{volatility}", "STABLE", "{lock}", "", "{writes}", "false").Replace(take)
	take = strings.NewReplacer("{function}", "take_1", "{volatility}", "VOLATILE", "{writes}", "true",
		"{lock}", l.sql("PERFORM pg_advisory_xact_lock(hashtextextended(_account, {seed}));")).Replace(take)
	script := "BEGIN;" + l.sql("SELECT pg_advisory_xact_lock({seed});") + l.sql(schemaSQL) + take + look + "COMMIT"
	if err := c.Exec(ctx, script).Close(); err != nil {
		_ = c.Exec(ctx, "ROLLBACK").Close()
		if is(err, duplicateTable, uniqueViolation) { // somebody else has just made it
			return nil
		}
		return err
	}
	return nil
}

// transaction is one that holds the lock of an account.
type transaction struct {
	*Ledger

	conn    *conn
	account account
	now     int64 // the clock
}

// account is the row of one; id 0 is one that is not there yet.
type account struct {
	name                    string
	id, horizon, generation int64
	system, timeline        string
	here                    bool // the generation began on this server
}

// in does something in one transaction that holds the account's lock.
func (l *Ledger) in(ctx context.Context, name string, do func(context.Context, *transaction) error) error {
	return l.within(ctx, l.timeout, name, do)
}

func (l *Ledger) within(ctx context.Context, timeout time.Duration, name string, do func(context.Context, *transaction) error) error {
	if err := quota.CheckAccount(name); err != nil {
		return err
	}
	return l.with(ctx, timeout, true, func(ctx context.Context, c *conn) (err error) {
		t := &transaction{Ledger: l, conn: c, account: account{name: name}}
		defer func() {
			if err != nil && !c.IsClosed() && c.TxStatus() != 'I' {
				_, _ = l.conns.run(ctx, c, "ROLLBACK", nil)
			}
		}()
		err = t.begin(ctx)
		if err == nil {
			err = do(ctx, t)
		}
		if err != nil {
			return l.uncommitted(ctx, err)
		}
		_, err = l.conns.run(ctx, c, "COMMIT", nil)
		return err
	})
}

// uncommitted returns the error for a failure before COMMIT was sent: whatever it is, nothing is in doubt.
func (l *Ledger) uncommitted(ctx context.Context, err error) error {
	if is(err, noSchema, noTable, noFunction) {
		return err // it is tried again
	}
	return l.explain(ctx, err, false)
}

func (t *transaction) begin(ctx context.Context) error {
	if _, err := t.conns.run(ctx, t.conn, "BEGIN", nil); err != nil {
		return err
	}
	if _, err := t.query(ctx, "SELECT pg_advisory_xact_lock(hashtextextended($1, {seed}))", t.account.name); err != nil {
		return err
	}
	rows, err := t.query(ctx, `SELECT {clock}, a.id, a.horizon, a.generation, a.system, a.timeline,
			a.timeline = {timeline} AND a.system = (SELECT system_identifier::text FROM pg_control_system())
		FROM (VALUES (1)) one LEFT JOIN {schema}.accounts a ON a.name = $1`, t.account.name)
	if err != nil {
		return err
	}
	a := &t.account
	return rows.each(func(r row) {
		t.now, a.id, a.horizon, a.generation, a.system, a.timeline = r.int(0), r.int(1), r.int(2), r.int(3), r.text(4), r.text(5)
		a.here = r.text(6) == "t"
	})
}

// ensure makes the account's row, or notes that it was used and needs this horizon.
func (t *transaction) ensure(ctx context.Context, horizon int64) error {
	rows, err := t.query(ctx, `INSERT INTO {schema}.accounts AS a (name, horizon, touched) VALUES ($1, $2, $3)
		ON CONFLICT (name) DO UPDATE SET horizon = greatest(a.horizon, excluded.horizon), touched = greatest(a.touched, excluded.touched)
		RETURNING id, horizon`, t.account.name, horizon, t.now)
	if err != nil {
		return err
	}
	return rows.each(func(r row) { t.account.id, t.account.horizon = r.int(0), r.int(1) })
}

// pool is the row of one.
type pool struct {
	id, total, number, length, newest int64
	drainedUntil                      int64
}

// pools returns the account's pools.
func (t *transaction) pools(ctx context.Context) (map[string]*pool, error) {
	rows, err := t.query(ctx, "SELECT name, id, total, number, length, newest, drained_until FROM {schema}.pools WHERE account = $1", t.account.id)
	if err != nil {
		return nil, err
	}
	found := map[string]*pool{}
	err = rows.each(func(r row) {
		found[r.text(0)] = &pool{r.int(1), r.int(2), r.int(3), r.int(4), r.int(5), r.int(6)}
	})
	return found, err
}

// addPool makes the row of a pool that has none.
func (t *transaction) addPool(ctx context.Context, name string) (*pool, error) {
	rows, err := t.query(ctx, "INSERT INTO {schema}.pools (account, name) VALUES ($1, $2) RETURNING id", t.account.id, name)
	if err != nil {
		return nil, err
	}
	p := &pool{}
	return p, rows.each(func(r row) { p.id = r.int(0) })
}

func (t *transaction) keepPool(ctx context.Context, name string, p *pool) error {
	_, err := t.query(ctx, "UPDATE {schema}.pools SET total = $3, number = $4, length = $5, newest = $6 WHERE account = $1 AND name = $2",
		t.account.id, name, p.total, p.number, p.length, p.newest)
	return err
}

// query runs a statement of the transaction.
func (t *transaction) query(ctx context.Context, sql string, values ...any) (rows, error) {
	return t.conns.run(ctx, t.conn, t.sql(sql), args(values...))
}

// rows is what a statement answers.
type rows [][][]byte

// each reads every row. ErrCorrupt: one that holds something else than was expected.
func (r rows) each(do func(row)) error {
	for _, fields := range r {
		bad := ""
		do(row{fields, &bad})
		if bad != "" {
			return corrupt(bad)
		}
	}
	return nil
}

type row struct {
	fields [][]byte
	bad    *string
}

func (r row) text(i int) string { return string(r.fields[i]) }

// int returns a number; NULL is 0.
func (r row) int(i int) int64 {
	if r.fields[i] == nil {
		return 0
	}
	n, err := strconv.ParseInt(string(r.fields[i]), 10, 64)
	if err != nil {
		*r.bad = fmt.Sprintf("it holds %q where a number belongs", r.fields[i])
	}
	return n
}
