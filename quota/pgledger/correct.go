package pgledger

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/internal/micros"
	"github.com/trendvidstream/ingest/quota/internal/protocol"
	"github.com/trendvidstream/ingest/quota/sharedledger"
)

// Refund implements quota.Ledger. It deletes the entry, so that no window waits for it.
func (l *Ledger) Refund(ctx context.Context, name string, d quota.Decision) error {
	return l.in(ctx, l.timeout, name, func(ctx context.Context, t *transaction) error {
		at := d.At.UnixMicro()
		if !d.Allowed || t.now-at > protocol.RefundWithin.Microseconds() {
			return saying(quota.ErrNotRefundable, "a take of %s", d.At.UTC().Format(time.DateTime+"Z"))
		}
		pools, err := t.pools(ctx)
		if err != nil {
			return err
		}
		for _, s := range d.Pools {
			if s.Charged == 0 {
				continue
			}
			p := pools[s.Pool]
			if p == nil {
				p = &pool{} // without entries
			}
			base, log, err := t.log(ctx, p, at)
			if err != nil {
				return err
			}
			i := slices.IndexFunc(log,
				func(e sharedledger.Entry) bool { return e.At == at && e.Ref == s.Entry && e.Amount == s.Charged })
			if i < 0 {
				return saying(quota.ErrNotRefundable, "pool %s has no such entry", s.Pool)
			}
			if err := t.rewrite(ctx, p, base, log, slices.Concat(log[:i], log[i+1:])); err != nil {
				return err
			}
		}
		return nil
	})
}

// Post implements quota.Ledger.
func (l *Ledger) Post(ctx context.Context, a quota.Ask, at time.Time) error {
	if err := sharedledger.CheckAsk(a); err != nil {
		return err
	}
	return l.in(ctx, l.timeout, a.Account, func(ctx context.Context, t *transaction) error {
		pools, err := t.pools(ctx)
		if err != nil {
			return err
		}
		if err := clocksApart(a, t.now); err != nil {
			return err
		}
		var newest time.Time
		for _, c := range a.Charges {
			if p := pools[c.Pool]; p != nil && p.newest > newest.UnixMicro() {
				newest = protocol.Time(p.newest)
			}
		}
		now, err := a.Advance(protocol.Time(t.now), newest)
		if err != nil {
			return &quotaError{fmt.Errorf("postgres: %w", err)}
		}
		t.now = now.UnixMicro()
		if err := t.ensure(ctx, micros.Of(a.Horizon)); err != nil {
			return err
		}
		entry := sharedledger.Entry{At: min(at.UnixMicro(), t.now), Who: a.Who}
		if t.now-entry.At >= t.account.horizon {
			return nil
		}
		for _, c := range a.Charges {
			if entry.Amount = c.Amount; entry.Amount == 0 {
				continue
			}
			p, err := t.pool(ctx, pools, c.Pool)
			if err != nil {
				return err
			}
			base, log, err := t.log(ctx, p, entry.At+1) // it goes after entries of the same time
			if err != nil {
				return err
			}
			if err := t.rewrite(ctx, p, base, log, append([]sharedledger.Entry{entry}, log...)); err != nil {
				return err
			}
		}
		return nil
	})
}

// Drain implements quota.Ledger.
func (l *Ledger) Drain(ctx context.Context, name, poolName string, d quota.Drain) error {
	if err := d.Check(name, poolName); err != nil {
		return err
	}
	return l.in(ctx, l.timeout, name, func(ctx context.Context, t *transaction) error {
		pools, err := t.pools(ctx)
		if err == nil {
			err = t.ensure(ctx, quota.MinHorizon.Microseconds())
		}
		if err != nil {
			return err
		}
		p, err := t.pool(ctx, pools, poolName)
		if err == nil {
			err = t.drain(ctx, p, d.Over(p.drain, protocol.Time(t.now)))
		}
		return err
	})
}

// drain stores the last drain of a pool.
func (t *transaction) drain(ctx context.Context, p *pool, d quota.Drain) error {
	err := t.exec(ctx,
		`UPDATE {schema}.pools SET drained_until = d[1], drained_used = d[2], drained_by = d[3],
			drained_at = d[4], drained_probe = d[5]
		FROM (VALUES ($2::bigint[])) new (d) WHERE id = $1`, p.id, micros.PutDrain(d))
	return err
}

// Reset implements quota.Ledger. It keeps the empty pools, so that entry numbers continue.
func (l *Ledger) Reset(ctx context.Context, name string) error {
	return l.in(ctx, l.timeout, name, func(ctx context.Context, t *transaction) error {
		if t.account.generation != 0 {
			return saying(quota.ErrShared,
				"account %s belongs to several data directories, and their journals would bring the spends back", name)
		}
		return t.each(ctx, emptyPools...)
	})
}

// emptyPools forgets the logs and the drains of all pools of an account.
var emptyPools = []string{
	"DELETE FROM {schema}.entries WHERE pool IN (SELECT id FROM {schema}.pools WHERE account = $1)",
	`UPDATE {schema}.pools SET total = 0, length = 0, newest = 0, drained_until = 0, drained_used = 0,
		drained_by = 0, drained_at = 0, drained_probe = 0
		WHERE account = $1`,
	countPools,
}

// An account stores how many pools and writers it has, so that a missing one is noticed.
const (
	countPools = "UPDATE {schema}.accounts SET pools = (SELECT count(*) FROM {schema}.pools " +
		"WHERE account = $1) WHERE id = $1"
	countWriters = "UPDATE {schema}.accounts SET writers = (SELECT count(*) FROM {schema}.writers " +
		"WHERE account = $1) WHERE id = $1"
)

// Spent implements quota.Ledger.
func (l *Ledger) Spent(ctx context.Context, name string, since time.Time,
	every time.Duration) (out []quota.Spent, err error) {
	if err := quota.CheckAccount(name); err != nil {
		return nil, err
	}
	err = l.with(ctx, l.timeout, false, func(ctx context.Context, c *pgxpool.Conn) error {
		rows, _ := c.Query(ctx,
			l.sql(`SELECT p.name, e.purpose, e.region, e.method, e.client,
				coalesce((e.at - $2) / nullif($3::bigint, 0), 0), sum(e.amount)::bigint
			FROM {schema}.accounts a JOIN {schema}.pools p ON p.account = a.id JOIN {schema}.entries e ON e.pool = p.id
			WHERE a.name = $1 AND e.at >= $2 GROUP BY 1, 2, 3, 4, 5, 6 HAVING sum(e.amount) > 0`),
			l.mode(), name, since.UnixMicro(), every.Microseconds())
		out, err = pgx.CollectRows(rows, func(r pgx.CollectableRow) (s quota.Spent, err error) {
			err = r.Scan(&s.Pool, &s.Who.Purpose, &s.Who.Region, &s.Who.Method, &s.Who.Client, &s.Part, &s.Amount)
			return s, err
		})
		return err
	})
	if errors.Is(err, errAbsent) {
		return nil, nil
	}
	slices.SortFunc(out, quota.Spent.Compare)
	return out, err
}
