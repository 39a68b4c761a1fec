package pgledger

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/internal/micros"
	"github.com/trendvidstream/ingest/quota/sharedledger"
)

// longer is how many time-outs a sync may take: it may hold 100,000 rows.
const longer = 20

// Sync implements sharedledger.Remote, in one transaction.
func (l *Ledger) Sync(ctx context.Context, b sharedledger.Batch) (now time.Time, err error) {
	if err := b.Check(); err != nil {
		return now, err
	}
	err = l.within(ctx, longer*l.timeout, b.Account, func(ctx context.Context, t *transaction) error {
		err := t.sync(ctx, b)
		now = quota.FromMicros(t.now)
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

// apply does to a pool what is planned.
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

// log reads the log of a pool from a time on, and the sum of all that is before it.
func (t *transaction) log(ctx context.Context, p *pool, from int64) (base int64, log []sharedledger.Entry, err error) {
	log, err = pgx.CollectRows(t.rows(ctx, `SELECT number, at, amount, purpose, region, method, client, coalesce(synced, 0), coalesce(since, 0), coalesce(generation, 0)
		FROM {schema}.entries WHERE pool = $1 AND at >= $2 ORDER BY at, number`, p.id, from), func(r pgx.CollectableRow) (e sharedledger.Entry, err error) {
		return e, r.Scan(&e.Ref, &e.At, &e.Amount, &e.Who.Purpose, &e.Who.Region, &e.Who.Method, &e.Who.Client, &e.Synced, &e.Since, &e.Generation)
	})
	base = p.total
	for _, e := range log {
		base -= e.Amount
	}
	return base, log, err
}

// rewrite makes a log, which begins at the sum base, what it is to become, and writes only what differs.
func (t *transaction) rewrite(ctx context.Context, p *pool, base int64, log, entries []sharedledger.Entry) error {
	type place struct{ before, amount int64 }
	was, sum := map[int64]place{}, base
	for _, e := range log {
		was[e.Ref] = place{sum, e.Amount}
		sum += e.Amount
	}
	var c columns
	p.total = base
	for _, e := range entries {
		before, known := was[e.Ref]
		delete(was, e.Ref)
		if e.Ref == 0 {
			p.number++
			e.Ref = p.number
		}
		if !known || before != (place{p.total, e.Amount}) {
			c.add(e, p.total)
		}
		p.total += e.Amount
		p.newest = max(p.newest, e.At)
	}
	if p.length += int64(len(entries) - len(log)); p.length == 0 {
		p.total = 0 // or the empty log would seem to have lost its entries
	}
	if _, err := t.exec(ctx, "DELETE FROM {schema}.entries WHERE pool = $1 AND number = ANY ($2)", p.id, slices.Collect(maps.Keys(was))); err != nil {
		return err
	}
	_, err := t.exec(ctx, `INSERT INTO {schema}.entries (pool, at, number, before, amount, purpose, region, method, client, synced, since, generation)
		SELECT $1, a, n, b, m, p, r, w, c, nullif(y, 0), nullif(s, 0), nullif(g, 0)
		FROM unnest($2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::text[], $7::text[], $8::text[], $9::text[], $10::bigint[], $11::bigint[], $12::bigint[])
			u (a, n, b, m, p, r, w, c, y, s, g)
		ON CONFLICT (pool, at, number) DO UPDATE SET before = excluded.before, amount = excluded.amount`,
		p.id, c.at, c.number, c.before, c.amount, c.purpose, c.region, c.method, c.client, c.synced, c.since, c.generation)
	if err == nil {
		_, err = t.exec(ctx, "UPDATE {schema}.pools SET total = $2, number = $3, length = $4, newest = $5 WHERE id = $1", p.id, p.total, p.number, p.length, p.newest)
	}
	return err
}

// columns are entries as arrays, one for each column.
type columns struct {
	at, number, before, amount, synced, since, generation []int64
	purpose, region, method, client                       []string
}

func (c *columns) add(e sharedledger.Entry, before int64) {
	c.at, c.number, c.before, c.amount = append(c.at, e.At), append(c.number, e.Ref), append(c.before, before), append(c.amount, e.Amount)
	c.purpose, c.region = append(c.purpose, string(e.Who.Purpose)), append(c.region, e.Who.Region)
	c.method, c.client = append(c.method, e.Who.Method), append(c.client, e.Who.Client)
	c.synced, c.since, c.generation = append(c.synced, e.Synced), append(c.since, e.Since), append(c.generation, int64(e.Generation))
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

// keepWriters writes down how far the writers are, and forgets those that were not heard of for the horizon.
func (t *transaction) keepWriters(ctx context.Context, writers map[string]sharedledger.WriterState) error {
	var names []string
	var numbers, nonces []int64
	for name, w := range writers {
		names, numbers, nonces = append(names, name), append(numbers, w.Number), append(nonces, w.Nonce)
	}
	_, err := t.exec(ctx, `INSERT INTO {schema}.writers (account, name, number, nonce, heard)
		SELECT $1, w, n, m, $2 FROM unnest($3::text[], $4::bigint[], $5::bigint[]) u (w, n, m)
		ON CONFLICT (account, name) DO UPDATE SET number = excluded.number, nonce = excluded.nonce, heard = excluded.heard, answer = NULL`,
		t.account.id, t.now, names, numbers, nonces)
	if err == nil {
		_, err = t.exec(ctx, "DELETE FROM {schema}.writers WHERE account = $1 AND heard < $2", t.account.id, t.now-t.account.horizon)
	}
	return cmp.Or(err, t.each(ctx, countWriters))
}

// raised reads the snapshots that the account's pools were raised to.
func (t *transaction) raised(ctx context.Context) (map[string][]sharedledger.Raised, error) {
	found := map[string][]sharedledger.Raised{}
	var name string
	var all []sharedledger.Raised
	_, err := pgx.ForEachRow(t.rows(ctx, "SELECT p.name, r.snapshots FROM {schema}.raised r JOIN {schema}.pools p ON p.id = r.pool WHERE p.account = $1", t.account.id),
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
		_, err = t.exec(ctx, "INSERT INTO {schema}.raised VALUES ($1, $2) ON CONFLICT (pool) DO UPDATE SET snapshots = excluded.snapshots", p.id, string(text))
	}
	return err
}

// list enters the host that has synced.
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
		_, err = t.exec(ctx, "UPDATE {schema}.accounts SET hosts = $2 WHERE id = $1", t.account.id, string(text))
	}
	return err
}
