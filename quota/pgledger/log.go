package pgledger

import (
	"context"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/trendvidstream/ingest/quota/sharedledger"
)

// log reads a pool's log from a time on, and the sum of all earlier entries.
func (t *transaction) log(ctx context.Context, p *pool, from int64) (base int64, log []sharedledger.Entry, err error) {
	log, err = pgx.CollectRows(t.rows(ctx,
		`SELECT number, at, amount, purpose, region, method, client, coalesce(synced, 0),
			coalesce(since, 0), coalesce(generation, 0)
		FROM {schema}.entries WHERE pool = $1 AND at >= $2 ORDER BY at, number`, p.id, from),
		func(r pgx.CollectableRow) (e sharedledger.Entry, err error) {
			err = r.Scan(&e.Ref, &e.At, &e.Amount, &e.Who.Purpose, &e.Who.Region, &e.Who.Method, &e.Who.Client,
				&e.Synced, &e.Since, &e.Generation)
			return e, err
		})
	base = p.total
	for _, e := range log {
		base -= e.Amount
	}
	return base, log, err
}

// rewrite turns a log, which begins at the sum base, into the given entries, and writes only the differences.
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
		p.total = 0 // otherwise the empty log would seem to have lost entries
	}
	if err := t.exec(ctx, "DELETE FROM {schema}.entries WHERE pool = $1 AND number = ANY ($2)",
		p.id, slices.Collect(maps.Keys(was))); err != nil {
		return err
	}
	err := t.exec(ctx,
		`INSERT INTO {schema}.entries (pool, at, number, before, amount, purpose, region, method, client, synced, since,
			generation)
		SELECT $1, a, n, b, m, p, r, w, c, nullif(y, 0), nullif(s, 0), nullif(g, 0)
		FROM unnest($2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::text[], $7::text[], $8::text[], $9::text[],
			$10::bigint[], $11::bigint[], $12::bigint[])
			u (a, n, b, m, p, r, w, c, y, s, g)
		ON CONFLICT (pool, at, number) DO UPDATE SET before = excluded.before, amount = excluded.amount`,
		p.id, c.at, c.number, c.before, c.amount, c.purpose, c.region, c.method, c.client, c.synced, c.since, c.generation)
	if err == nil {
		err = t.exec(ctx, "UPDATE {schema}.pools SET total = $2, number = $3, length = $4, newest = $5 WHERE id = $1",
			p.id, p.total, p.number, p.length, p.newest)
	}
	return err
}

// columns holds entries as one array per column.
type columns struct {
	at, number, before, amount, synced, since, generation []int64
	purpose, region, method, client                       []string
}

func (c *columns) add(e sharedledger.Entry, before int64) {
	c.at, c.number, c.before, c.amount = append(c.at, e.At), append(c.number, e.Ref), append(c.before, before),
		append(c.amount, e.Amount)
	c.purpose, c.region = append(c.purpose, string(e.Who.Purpose)), append(c.region, e.Who.Region)
	c.method, c.client = append(c.method, e.Who.Method), append(c.client, e.Who.Client)
	c.synced, c.since, c.generation = append(c.synced, e.Synced), append(c.since, e.Since),
		append(c.generation, int64(e.Generation))
}
