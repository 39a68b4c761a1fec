package pgledger

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/internal/micros"
)

// transaction is a database transaction that holds an account's lock.
type transaction struct {
	*Ledger

	tx      pgx.Tx
	account account
	now     int64 // the clock
}

// account is an account's row; its id is 0 if the row does not exist yet.
type account struct {
	name                    string
	id, horizon, generation int64
	pools                   int64 // their number
	here                    bool  // the generation began on this server
}

// in calls do in one transaction that holds the account's lock.
func (l *Ledger) in(ctx context.Context, timeout time.Duration, name string,
	do func(context.Context, *transaction) error) error {
	if err := quota.CheckAccount(name); err != nil {
		return err
	}
	return l.with(ctx, timeout, true, func(ctx context.Context, c *pgxpool.Conn) error {
		tx, err := c.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.ReadCommitted})
		if err != nil {
			return l.uncommitted(ctx, err)
		}
		defer func() { _ = tx.Rollback(ctx) }()
		t := &transaction{Ledger: l, tx: tx, account: account{name: name}}
		if err = t.begin(ctx); err == nil {
			err = do(ctx, t)
		}
		if err != nil {
			return l.uncommitted(ctx, err)
		}
		return tx.Commit(ctx)
	})
}

// uncommitted returns the error for a failure before COMMIT was sent: the transaction certainly changed nothing.
func (l *Ledger) uncommitted(ctx context.Context, err error) error {
	if is(err, noPrepared, samePrepared, noSchema, noTable, noFunction, serialization) { // with calls its function again
		return err
	}
	return l.explain(ctx, err, false)
}

// begin waits for the account's lock, and reads the account.
func (t *transaction) begin(ctx context.Context) error {
	if err := t.exec(ctx, "SELECT pg_advisory_xact_lock(hashtextextended($1, {seed}))", t.account.name); err != nil {
		return err
	}
	a := &t.account
	return t.row(ctx,
		`SELECT {clock}, coalesce(a.id, 0), coalesce(a.horizon, 0), coalesce(a.generation, 0), coalesce(a.pools, 0),
			coalesce(a.timeline = {timeline} AND a.system = (SELECT system_identifier::text FROM pg_control_system()), false)
		FROM (VALUES (1)) one LEFT JOIN {schema}.accounts a ON a.name = $1`, a.name).Scan(&t.now,
		&a.id, &a.horizon, &a.generation, &a.pools, &a.here)
}

// ensure creates the account's row, or updates its horizon and time of use.
func (t *transaction) ensure(ctx context.Context, horizon int64) error {
	return t.row(ctx, `INSERT INTO {schema}.accounts AS a (name, horizon, touched) VALUES ($1, $2, $3)
		ON CONFLICT (name) DO UPDATE
			SET horizon = greatest(a.horizon, excluded.horizon), touched = greatest(a.touched, excluded.touched)
		RETURNING id, horizon`, t.account.name, horizon, t.now).Scan(&t.account.id, &t.account.horizon)
}

// pool is a pool's row.
type pool struct {
	id, total, number, length, newest int64
	drain                             quota.Drain // the last one, even if it is over
}

// whole returns ErrLost if the account lacks some of its data.
func (t *transaction) whole(ctx context.Context) error {
	var lost string
	err := t.row(ctx, "SELECT coalesce({schema}.lost($1), '')", t.account.id).Scan(&lost)
	if lost != "" {
		return errLost(t.account.name, lost)
	}
	return err
}

// pools returns the account's pools.
func (t *transaction) pools(ctx context.Context) (map[string]*pool, error) {
	found := map[string]*pool{}
	var name string
	var p pool
	var drain []int64
	_, err := pgx.ForEachRow(t.rows(ctx,
		`SELECT name, id, total, number, length, newest,
			ARRAY[drained_until, drained_used, drained_by, drained_at, drained_probe]
		FROM {schema}.pools WHERE account = $1`, t.account.id),
		[]any{&name, &p.id, &p.total, &p.number, &p.length, &p.newest, &drain}, func() error {
			p.drain = micros.ReadDrain(inTurn(drain))
			found[name] = new(p)
			return nil
		})
	if err == nil && int64(len(found)) != t.account.pools {
		err = errLost(t.account.name, "one of its pools")
	}
	return found, err
}

// inTurn returns a function that returns the numbers one by one.
func inTurn(numbers []int64) func() int64 {
	return func() (n int64) { n, numbers = numbers[0], numbers[1:]; return n }
}

// pool returns one of the account's pools, and creates its row if it has none.
func (t *transaction) pool(ctx context.Context, pools map[string]*pool, name string) (*pool, error) {
	if p := pools[name]; p != nil {
		return p, nil
	}
	p := &pool{}
	return p, t.row(ctx, `WITH counted AS (UPDATE {schema}.accounts SET pools = pools + 1 WHERE id = $1)
		INSERT INTO {schema}.pools (account, name) VALUES ($1, $2) RETURNING id`, t.account.id, name).Scan(&p.id)
}

// each runs statements, each with the account's id as $1.
func (t *transaction) each(ctx context.Context, statements ...string) error {
	for _, sql := range statements {
		if err := t.exec(ctx, sql, t.account.id); err != nil {
			return err
		}
	}
	return nil
}

func (t *transaction) exec(ctx context.Context, sql string, args ...any) error {
	_, err := t.tx.Exec(ctx, t.sql(sql), append([]any{t.mode()}, args...)...)
	return err
}

func (t *transaction) row(ctx context.Context, sql string, args ...any) pgx.Row {
	return t.tx.QueryRow(ctx, t.sql(sql), append([]any{t.mode()}, args...)...)
}

// rows runs a query. Its error is returned when the rows are read.
func (t *transaction) rows(ctx context.Context, sql string, args ...any) pgx.Rows {
	rows, _ := t.tx.Query(ctx, t.sql(sql), append([]any{t.mode()}, args...)...)
	return rows
}
