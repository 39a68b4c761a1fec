package pgledger

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/trendvidstream/ingest/quota/internal/micros"
	"github.com/trendvidstream/ingest/quota/internal/protocol"
	"github.com/trendvidstream/ingest/quota/sharedledger"
)

// Sync implements sharedledger.Remote, in one transaction.
func (l *Ledger) Sync(ctx context.Context, b sharedledger.Batch) (now time.Time, err error) {
	if err := b.Check(); err != nil {
		return now, err
	}
	err = l.in(ctx, longer*l.timeout, b.Account, func(ctx context.Context, t *transaction) error {
		err := t.sync(ctx, b)
		now = protocol.Time(t.now)
		return err
	})
	return now, err
}

func (t *transaction) sync(ctx context.Context, b sharedledger.Batch) error {
	a := t.account
	switch {
	case a.generation == 0:
		return saying(sharedledger.ErrLost, "account %s has no generation", a.name)
	case a.generation != int64(b.Generation):
		return errGeneration(a.generation)
	case !a.here:
		return errMoved
	}
	pools, err := t.pools(ctx)
	if err != nil {
		return err
	}
	if err := t.whole(ctx); err != nil {
		return err
	}
	for _, p := range pools {
		t.now = max(t.now, p.newest)
	}
	if err := t.ensure(ctx, micros.Of(b.Horizon)); err != nil {
		return err
	}
	facts := sharedledger.RemoteFacts{Now: t.now, Horizon: t.account.horizon}
	if facts.Writers, err = t.writers(ctx, b); err != nil {
		return err
	}
	if facts.Raised, err = t.raised(ctx); err != nil {
		return err
	}
	plan := b.Plan(facts)
	for i := range plan.Pools {
		if err := t.apply(ctx, pools, &plan.Pools[i]); err != nil {
			return err
		}
	}
	return cmp.Or(t.keepWriters(ctx, plan.Writers), t.list(ctx, b))
}

// apply carries out a pool's plan.
func (t *transaction) apply(ctx context.Context, pools map[string]*pool, plan *sharedledger.PoolPlan) error {
	p, err := t.pool(ctx, pools, plan.Pool)
	if err != nil {
		return err
	}
	if d, changed := plan.Drained(p.drain); changed {
		if err := t.drain(ctx, p, d); err != nil {
			return err
		}
	}
	if plan.Marked {
		if err := t.keepRaised(ctx, p, plan.Raised); err != nil {
			return err
		}
	}
	if plan.Idle() {
		return nil
	}
	base, log, err := t.log(ctx, p, plan.From())
	if err != nil {
		return err
	}
	if entries, changed := plan.Apply(log); changed {
		return t.rewrite(ctx, p, base, log, entries)
	}
	return nil
}

// writers reads the state of the batch's writers.
func (t *transaction) writers(ctx context.Context, b sharedledger.Batch) (map[string]sharedledger.WriterState, error) {
	found := map[string]sharedledger.WriterState{}
	for _, r := range b.Rows {
		found[r.Writer] = sharedledger.WriterState{}
	}
	var name string
	var w sharedledger.WriterState
	_, err := pgx.ForEachRow(t.rows(ctx, `SELECT name, number, nonce, coalesce(answer[2], 0) FROM {schema}.writers
		WHERE account = $1 AND name = ANY ($2)`, t.account.id, slices.Collect(maps.Keys(found))),
		[]any{&name, &w.Number, &w.Nonce, &w.Charged}, func() error {
			found[name] = w
			return nil
		})
	return found, err
}

// keepWriters stores how far the writers are, and forgets those not heard of for the horizon.
func (t *transaction) keepWriters(ctx context.Context, writers map[string]sharedledger.WriterState) error {
	var names []string
	var numbers, nonces []int64
	for name, w := range writers {
		names, numbers, nonces = append(names, name), append(numbers, w.Number), append(nonces, w.Nonce)
	}
	err := t.exec(ctx, `INSERT INTO {schema}.writers (account, name, number, nonce, heard)
		SELECT $1, w, n, m, $2 FROM unnest($3::text[], $4::bigint[], $5::bigint[]) u (w, n, m)
		ON CONFLICT (account, name) DO UPDATE
			SET number = excluded.number, nonce = excluded.nonce, heard = excluded.heard, answer = NULL`,
		t.account.id, t.now, names, numbers, nonces)
	if err == nil {
		err = t.exec(ctx, "DELETE FROM {schema}.writers WHERE account = $1 AND heard < $2", t.account.id,
			t.now-t.account.horizon)
	}
	return cmp.Or(err, t.each(ctx, countWriters))
}

// raised reads the snapshots that the account's pools were raised to.
func (t *transaction) raised(ctx context.Context) (map[string][]sharedledger.Raised, error) {
	found := map[string][]sharedledger.Raised{}
	var name string
	var all []sharedledger.Raised
	_, err := pgx.ForEachRow(t.rows(ctx, "SELECT p.name, r.snapshots FROM {schema}.raised r "+
		"JOIN {schema}.pools p ON p.id = r.pool WHERE p.account = $1", t.account.id),
		[]any{&name, &all}, func() error {
			found[name], all = all, nil
			return nil
		})
	return found, err
}

// keepRaised replaces the snapshots that a pool was raised to.
func (t *transaction) keepRaised(ctx context.Context, p *pool, raised []sharedledger.Raised) error {
	text, err := json.Marshal(raised)
	if err == nil {
		err = t.exec(ctx, "INSERT INTO {schema}.raised VALUES ($1, $2) ON CONFLICT (pool) "+
			"DO UPDATE SET snapshots = excluded.snapshots", p.id, string(text))
	}
	return err
}

// list adds the host that has synced.
func (t *transaction) list(ctx context.Context, b sharedledger.Batch) error {
	if b.Host == nil {
		return nil
	}
	var others []sharedledger.Host
	if err := t.row(ctx, "SELECT hosts FROM {schema}.accounts WHERE id = $1", t.account.id).Scan(&others); err != nil {
		return err
	}
	text, err := json.Marshal(b.Listed(others, t.now))
	if err == nil {
		err = t.exec(ctx, "UPDATE {schema}.accounts SET hosts = $2 WHERE id = $1", t.account.id, string(text))
	}
	return err
}
