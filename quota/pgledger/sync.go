package pgledger

import (
	"cmp"
	"context"
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

// Sync implements sharedledger.Remote. It is one transaction: what is synced is sorted out here, and written with
// a few statements for each pool.
func (l *Ledger) Sync(ctx context.Context, d sharedledger.Batch) (now time.Time, err error) {
	if err := d.Check(); err != nil {
		return now, err
	}
	err = l.within(ctx, longer*l.timeout, d.Account, func(ctx context.Context, t *transaction) error {
		p := syncing{transaction: t, Batch: d, writers: map[string]*writer{}}
		if err := p.run(ctx); err != nil {
			return err
		}
		now = quota.FromMicros(p.now)
		return nil
	})
	return now, err
}

// syncing is a sync while it is made.
type syncing struct {
	*transaction
	sharedledger.Batch

	pools   map[string]*pool
	writers map[string]*writer
	parts   map[string]*part
}

// writer is what is known of one.
type writer struct {
	number, nonce int64
	charged       int64 // when, if there is an answer
	changed       bool
}

// part is what changes in the log of one pool.
type part struct {
	unattributed []charge
	added        []entry
	from         int64 // the earliest time at which anything changes
}

// charge is an unattributed one.
type charge struct {
	at, number, amount, since int64
	generation                sharedledger.Generation
	netted                    int64
}

func (d *syncing) run(ctx context.Context) (err error) {
	a := d.account
	switch {
	case a.generation == 0:
		return saying(sharedledger.ErrLost, "account %s has no generation", a.name)
	case a.generation != int64(d.Generation):
		return errGeneration(a.generation)
	case !a.here:
		return errMoved
	}
	if d.pools, err = d.transaction.pools(ctx); err != nil {
		return err
	}
	if name, err := d.short(ctx, d.pools); err != nil {
		return err
	} else if name != "" {
		return saying(sharedledger.ErrLost, "the log of pool %s is not as long as its state says", name)
	}
	for _, p := range d.pools {
		d.now = max(d.now, p.newest)
	}
	if err := d.ensure(ctx, micros.Of(d.Horizon)); err != nil {
		return err
	}
	if err := d.read(ctx); err != nil {
		return err
	}
	for _, r := range d.Rows {
		if err := d.row(ctx, r); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(d.parts)) {
		if err := d.apply(ctx, name, d.pools[name], d.parts[name]); err != nil {
			return err
		}
	}
	for _, u := range d.Snapshots {
		if err := d.raise(ctx, u); err != nil {
			return err
		}
	}
	return cmp.Or(d.keepWriters(ctx), d.list(ctx))
}

// read reads the writers, and the pools' unattributed charges. A pool that is not there is made.
func (d *syncing) read(ctx context.Context) error {
	d.parts = map[string]*part{}
	for _, r := range d.Rows {
		d.writers[r.Writer] = &writer{}
		for name, n := range r.Amounts {
			if n > 0 {
				d.parts[name] = &part{from: d.now + 1}
			}
		}
	}
	var name string
	var w writer
	_, err := pgx.ForEachRow(d.transaction.rows(ctx, `SELECT name, number, nonce, coalesce(answer[2], 0) FROM {schema}.writers
		WHERE account = $1 AND name = ANY ($2)`, d.account.id, slices.Sorted(maps.Keys(d.writers))),
		[]any{&name, &w.number, &w.nonce, &w.charged}, func() error {
			d.writers[name] = new(w)
			return nil
		})
	if err != nil {
		return err
	}
	names := slices.Collect(maps.Keys(d.parts))
	for _, u := range d.Snapshots {
		names = append(names, u.Pool)
	}
	for _, name := range names {
		if d.pools[name] == nil {
			if d.pools[name], err = d.addPool(ctx, name); err != nil {
				return err
			}
		}
	}
	for name, p := range d.parts {
		if p.unattributed, err = d.unattributed(ctx, d.pools[name]); err != nil {
			return err
		}
	}
	return nil
}

// row sorts out one row.
func (d *syncing) row(ctx context.Context, r sharedledger.Row) error {
	w := d.writers[r.Writer]
	switch {
	case r.State == sharedledger.RowUnused && r.Number == w.number && r.Nonce == w.nonce && w.charged > 0:
		if err := d.takeBack(ctx, r, w.charged); err != nil {
			return err
		}
	case r.Number <= w.number:
		return nil
	case r.State != sharedledger.RowUnused && r.State != sharedledger.RowVoid:
		d.record(r)
	}
	*w = writer{number: r.Number, nonce: r.Nonce, changed: true}
	return nil
}

// takeBack undoes what was charged, if it was not given back or merged with another since.
func (d *syncing) takeBack(ctx context.Context, r sharedledger.Row, at int64) error {
	for _, name := range slices.Sorted(maps.Keys(r.Amounts)) {
		amount, p := r.Amounts[name], d.pools[name]
		if amount == 0 {
			continue
		}
		number := int64(-1)
		err := d.transaction.row(ctx, `SELECT coalesce(max(number), -1) FROM {schema}.entries WHERE pool = $1 AND at = $2 AND amount = $3
			AND purpose = $4 AND region = $5 AND method = $6 AND told IS NULL`,
			p.id, at, amount, string(r.Who.Purpose), r.Who.Region, r.Who.Method).Scan(&number)
		if err != nil {
			return err
		}
		if _, err := d.remove(ctx, name, p, at, number, amount); err != nil {
			return err
		}
	}
	return nil
}

// record enters a row at its own time, and nets it against the unattributed charges that stood for it.
func (d *syncing) record(r sharedledger.Row) {
	at := min(r.At.UnixMicro(), d.now)
	if d.now-at >= d.account.horizon {
		return
	}
	e := entry{at: at, who: r.Who}
	if r.State == sharedledger.RowAsked || r.State == sharedledger.RowOwed {
		e.told = d.now
	} else if first := r.FirstSynced(); !first.IsZero() {
		e.told = first.UnixMicro()
	}
	for name, amount := range r.Amounts {
		if amount == 0 {
			continue
		}
		p := d.parts[name]
		p.net(r, at, amount)
		e.amount = amount
		p.added, p.from = append(p.added, e), min(p.from, at)
	}
}

// net takes up to an amount off the charges whose snapshots counted the row, the earliest first. A row that was too old
// for a snapshot's window is no part of its charge.
func (p *part) net(r sharedledger.Row, at, amount int64) {
	for i := range p.unattributed {
		c := &p.unattributed[i]
		if c.at <= at || at < c.since || !r.CountedAt(quota.FromMicros(c.at), c.generation) {
			continue
		}
		n := min(amount, c.amount-c.netted)
		c.netted += n
		if amount -= n; amount == 0 {
			return
		}
	}
}

// apply writes what changes in the log of a pool, and adds its sums up again from there on.
func (d *syncing) apply(ctx context.Context, name string, p *pool, changes *part) error {
	from := changes.from
	for _, c := range changes.unattributed {
		if c.netted > 0 {
			from = min(from, c.at)
		}
	}
	if from > d.now {
		return nil
	}
	base := int64(0)
	err := d.transaction.row(ctx, `SELECT coalesce(
		(SELECT before + amount FROM {schema}.entries WHERE pool = $1 AND at < $2 ORDER BY at DESC, number DESC LIMIT 1),
		(SELECT before FROM {schema}.entries WHERE pool = $1 ORDER BY at, number LIMIT 1), $3)`, p.id, from, p.total).Scan(&base)
	if err != nil {
		return err
	}
	if err := d.write(ctx, p, changes); err != nil {
		return err
	}
	_, err = d.exec(ctx, `UPDATE {schema}.entries e SET before = s.before FROM (
			SELECT at, number, ($3 + sum(amount) OVER (ORDER BY at, number) - amount)::bigint AS before
			FROM {schema}.entries WHERE pool = $1 AND at >= $2) s
		WHERE e.pool = $1 AND e.at = s.at AND e.number = s.number AND e.before <> s.before`, p.id, from, base)
	return cmp.Or(err, d.keepPool(ctx, name, p))
}

// write writes the entries that come, go, or hold less.
func (d *syncing) write(ctx context.Context, p *pool, changes *part) error {
	for _, c := range changes.unattributed {
		if c.netted == 0 {
			continue
		}
		sql := "UPDATE {schema}.entries SET amount = $4 WHERE pool = $1 AND at = $2 AND number = $3"
		if c.amount == c.netted {
			sql = "DELETE FROM {schema}.entries WHERE pool = $1 AND at = $2 AND number = $3 AND amount > $4"
			p.length--
		}
		p.total -= c.netted
		if _, err := d.exec(ctx, sql, p.id, c.at, c.number, c.amount-c.netted); err != nil {
			return err
		}
	}
	var at, numbers, amounts, told []int64
	var purposes, regions, methods []string
	for _, e := range changes.added {
		p.number++
		p.total, p.length, p.newest = p.total+e.amount, p.length+1, max(p.newest, e.at)
		at, numbers, amounts, told = append(at, e.at), append(numbers, p.number), append(amounts, e.amount), append(told, e.told)
		purposes, regions, methods = append(purposes, string(e.who.Purpose)), append(regions, e.who.Region), append(methods, e.who.Method)
	}
	_, err := d.exec(ctx, `INSERT INTO {schema}.entries (pool, at, number, before, amount, purpose, region, method, told)
		SELECT $1, a, n, 0, m, p, r, w, nullif(t, 0)
		FROM unnest($2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::text[], $7::text[], $8::text[]) u (a, n, m, t, p, r, w)`,
		p.id, at, numbers, amounts, told, purposes, regions, methods)
	return err
}

// raise enters what a snapshot saw used and the log does not have as unattributed charges at the snapshot's time, one
// for each window that lacks something, the shortest first.
func (d *syncing) raise(ctx context.Context, u sharedledger.UsageSnapshot) error {
	p := d.pools[u.Pool]
	if until, used := micros.PackDrain(u.Drain); until > p.drainedUntil {
		if err := d.drain(ctx, u.Pool, until, used); err != nil {
			return err
		}
		p.drainedUntil = until
	}
	at := min(u.At.UnixMicro(), d.now)
	if d.now-at >= d.account.horizon {
		return nil
	}
	younger, err := d.exec(ctx, `INSERT INTO {schema}.raised AS r (pool, generation, at) VALUES ($1, $2, $3)
		ON CONFLICT (pool, generation) DO UPDATE SET at = excluded.at WHERE excluded.at > r.at`, p.id, int64(u.Generation), u.At.UnixMicro())
	if err != nil || younger == 0 {
		return err
	}
	if _, err := d.exec(ctx, "DELETE FROM {schema}.raised WHERE pool = $1 AND at < $2", p.id, d.now-d.account.horizon); err != nil {
		return err
	}
	entered := int64(0)
	windows := slices.Clone(u.Windows)
	slices.SortStableFunc(windows, func(a, b sharedledger.WindowUsage) int { return b.Start.Compare(a.Start) })
	for _, w := range windows {
		counted := int64(0)
		err := d.transaction.row(ctx, `SELECT coalesce(sum(amount), 0)::bigint FROM {schema}.entries
			WHERE pool = $1 AND at >= $2 AND at <= $3 AND coalesce(told, at) <= $3`, p.id, w.Start.UnixMicro(), at).Scan(&counted)
		if err != nil {
			return err
		}
		e := entry{at: at, amount: w.Used - counted, who: sharedledger.Unattributed, since: w.Start.UnixMicro(), generation: int64(u.Generation)}
		if e.amount > 0 {
			if err := d.insert(ctx, u.Pool, p, e); err != nil {
				return err
			}
			entered += e.amount
		}
	}
	return d.reduce(ctx, u.Pool, p, at, entered)
}

// reduce takes an amount that was just entered at a time off the unattributed charges of younger snapshots whose
// windows reach back to it, the earliest first: had it been there before, they would have been smaller by it.
func (d *syncing) reduce(ctx context.Context, name string, p *pool, at, amount int64) error {
	if amount == 0 {
		return nil
	}
	charges, err := d.unattributed(ctx, p)
	if err != nil {
		return err
	}
	for i := range charges {
		if c := &charges[i]; c.at > at && at >= c.since {
			c.netted = min(amount, c.amount)
			amount -= c.netted
		}
	}
	return d.apply(ctx, name, p, &part{unattributed: charges, from: d.now + 1})
}

// unattributed returns the unattributed charges of a pool.
func (d *syncing) unattributed(ctx context.Context, p *pool) (charges []charge, err error) {
	var c charge
	_, err = pgx.ForEachRow(d.transaction.rows(ctx, `SELECT at, number, amount, since, generation FROM {schema}.entries
		WHERE pool = $1 AND purpose = $2 AND region = $3 AND method = $4 ORDER BY at, number`, p.id,
		string(sharedledger.Unattributed.Purpose), sharedledger.Unattributed.Region, sharedledger.Unattributed.Method),
		[]any{&c.at, &c.number, &c.amount, &c.since, &c.generation}, func() error {
			charges = append(charges, c)
			return nil
		})
	return charges, err
}

// keepWriters writes down how far the writers are, and forgets those that were not heard of for the horizon.
func (d *syncing) keepWriters(ctx context.Context) error {
	var names []string
	var numbers, nonces []int64
	for name, w := range d.writers {
		if w.changed {
			names, numbers, nonces = append(names, name), append(numbers, w.number), append(nonces, w.nonce)
		}
	}
	_, err := d.exec(ctx, `INSERT INTO {schema}.writers (account, name, number, nonce, heard)
		SELECT $1, w, n, m, $2 FROM unnest($3::text[], $4::bigint[], $5::bigint[]) u (w, n, m)
		ON CONFLICT (account, name) DO UPDATE SET number = excluded.number, nonce = excluded.nonce, heard = excluded.heard, answer = NULL`,
		d.account.id, d.now, names, numbers, nonces)
	if err == nil {
		_, err = d.exec(ctx, "DELETE FROM {schema}.writers WHERE account = $1 AND heard < $2", d.account.id, d.now-d.account.horizon)
	}
	return err
}
