package pgledger

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/internal/micros"
	"github.com/trendvidstream/ingest/quota/sharedledger"
)

// Refund implements quota.Ledger.
func (l *Ledger) Refund(ctx context.Context, name string, d quota.Decision) error {
	return l.in(ctx, name, func(ctx context.Context, t *transaction) error {
		if !d.Allowed || t.now-d.At.UnixMicro() > quota.RefundWithin.Microseconds() {
			return saying(quota.ErrNotRefundable, "a take of %s", d.At.Format(time.RFC3339))
		}
		pools, err := t.pools(ctx)
		if err != nil {
			return err
		}
		for _, s := range d.Pools {
			p := pools[s.Pool]
			if s.Charged == 0 {
				continue
			}
			found := false
			if p != nil {
				found, err = t.remove(ctx, s.Pool, p, d.At.UnixMicro(), s.Entry, s.Charged)
			}
			if err == nil && !found {
				err = saying(quota.ErrNotRefundable, "pool %s has no such entry", s.Pool)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// remove takes an entry out, so that no window waits for it, and reports whether it was there.
func (t *transaction) remove(ctx context.Context, name string, p *pool, at, number, amount int64) (bool, error) {
	gone, err := t.exec(ctx, "DELETE FROM {schema}.entries WHERE pool = $1 AND at = $2 AND number = $3 AND amount = $4", p.id, at, number, amount)
	if err != nil || gone == 0 {
		return false, err
	}
	if err := t.shift(ctx, p, at, number, -amount); err != nil {
		return false, err
	}
	p.total -= amount
	if p.length--; p.length == 0 {
		p.total = 0 // or the empty log would seem to have lost its entries
	}
	return true, t.keepPool(ctx, name, p)
}

// shift adds an amount to the sums of all entries behind one.
func (t *transaction) shift(ctx context.Context, p *pool, at, number, amount int64) error {
	_, err := t.exec(ctx, "UPDATE {schema}.entries SET before = before + $4 WHERE pool = $1 AND (at, number) > ($2, $3)", p.id, at, number, amount)
	return err
}

// insert puts a charge in its place in time.
func (t *transaction) insert(ctx context.Context, name string, p *pool, at, amount int64, who quota.Who) error {
	p.number++
	if err := t.shift(ctx, p, at, p.number, amount); err != nil {
		return err
	}
	_, err := t.exec(ctx, `INSERT INTO {schema}.entries (pool, at, number, before, amount, purpose, region, method, client)
		VALUES ($1, $2, $3, coalesce((SELECT before FROM {schema}.entries WHERE pool = $1 AND at > $2 ORDER BY at, number LIMIT 1), $9::bigint + $4::bigint) - $4,
			$4, $5, $6, $7, $8)`,
		p.id, at, p.number, amount, string(who.Purpose), who.Region, who.Method, who.Client, p.total)
	if err != nil {
		return err
	}
	p.total, p.length, p.newest = p.total+amount, p.length+1, max(p.newest, at)
	return t.keepPool(ctx, name, p)
}

// Post implements quota.Ledger.
func (l *Ledger) Post(ctx context.Context, a quota.Ask, at time.Time) error {
	if err := sharedledger.CheckAsk(a); err != nil {
		return err
	}
	return l.in(ctx, a.Account, func(ctx context.Context, t *transaction) error {
		pools, err := t.pools(ctx)
		if err != nil {
			return err
		}
		newest := int64(0)
		for _, c := range a.Charges {
			if p := pools[c.Pool]; p != nil {
				newest = max(newest, p.newest)
			}
		}
		if off := t.now - micros.Asked(a); micros.Asked(a) > 0 && max(off, -off) > a.ClockGap().Microseconds() {
			return refusedBy(a, noOperation, []int64{codeClocks, t.now, micros.Asked(a)})
		}
		var entered time.Time
		if newest > 0 {
			entered = quota.FromMicros(newest)
		}
		now, err := a.Advance(quota.FromMicros(t.now), entered)
		if err != nil {
			return &quotaError{fmt.Errorf("postgres: %w", err)}
		}
		t.now = now.UnixMicro()
		if err := t.ensure(ctx, micros.Horizon(a)); err != nil {
			return err
		}
		us := min(at.UnixMicro(), t.now)
		if t.now-us >= t.account.horizon {
			return nil
		}
		for _, c := range a.Charges {
			if c.Amount == 0 {
				continue
			}
			p := pools[c.Pool]
			if p == nil {
				if p, err = t.addPool(ctx, c.Pool); err != nil {
					return err
				}
			}
			if err := t.insert(ctx, c.Pool, p, us, c.Amount, a.Who); err != nil {
				return err
			}
		}
		return nil
	})
}

// Drain implements quota.Ledger.
func (l *Ledger) Drain(ctx context.Context, name, poolName string, d quota.Drain) error {
	if err := quota.CheckDrain(name, poolName, d); err != nil {
		return err
	}
	return l.in(ctx, name, func(ctx context.Context, t *transaction) error {
		pools, err := t.pools(ctx)
		if err == nil {
			err = t.ensure(ctx, quota.MinHorizon.Microseconds())
		}
		if err == nil && pools[poolName] == nil {
			_, err = t.addPool(ctx, poolName)
		}
		if err != nil {
			return err
		}
		return t.drain(ctx, poolName, d)
	})
}

// drain keeps the drain if it supersedes the last.
func (t *transaction) drain(ctx context.Context, poolName string, d quota.Drain) error {
	_, err := t.exec(ctx, `UPDATE {schema}.pools SET drained_until = d[1], drained_used = d[2], drained_by = d[3], drained_at = d[4], drained_probe = d[5]
		FROM (VALUES ($3::bigint[])) new (d) WHERE account = $1 AND name = $2 AND (d[1] = 0 OR d[1] > drained_until)
			AND (d[5] = 0 OR d[5] <> drained_probe OR drained_until <= $4)`, t.account.id, poolName, micros.PutDrain(d), t.now)
	return err
}

// Reset implements quota.Ledger. The pools stay, empty, so that their numbers go on.
func (l *Ledger) Reset(ctx context.Context, name string) error {
	return l.in(ctx, name, func(ctx context.Context, t *transaction) error {
		if t.account.generation != 0 {
			return saying(quota.ErrShared, "account %s is of several data directories, whose journals would bring back what was spent", name)
		}
		return t.empty(ctx, "drained_until = 0, drained_used = 0, drained_by = 0, drained_at = 0, drained_probe = 0")
	})
}

// empty forgets the logs of all pools; what else is set is said.
func (t *transaction) empty(ctx context.Context, also string) error {
	_, err := t.exec(ctx, "DELETE FROM {schema}.entries WHERE pool IN (SELECT id FROM {schema}.pools WHERE account = $1)", t.account.id)
	if err == nil {
		_, err = t.exec(ctx, "UPDATE {schema}.pools SET length = 0, newest = 0, "+also+" WHERE account = $1", t.account.id)
	}
	if err == nil {
		_, err = t.exec(ctx, "UPDATE {schema}.accounts SET pools = (SELECT count(*) FROM {schema}.pools WHERE account = $1) WHERE id = $1", t.account.id)
	}
	return err
}

// Spent implements quota.Ledger.
func (l *Ledger) Spent(ctx context.Context, name string, since time.Time) (out []quota.Spent, err error) {
	if err := quota.CheckAccount(name); err != nil {
		return nil, err
	}
	err = l.with(ctx, l.timeout, false, func(ctx context.Context, c *pgxpool.Conn) error {
		rows, _ := c.Query(ctx, l.sql(`SELECT p.name, e.purpose, e.region, e.method, e.client, sum(e.amount)::bigint
			FROM {schema}.accounts a JOIN {schema}.pools p ON p.account = a.id JOIN {schema}.entries e ON e.pool = p.id
			WHERE a.name = $1 AND e.at >= $2 GROUP BY 1, 2, 3, 4, 5 HAVING sum(e.amount) > 0`), l.mode(), name, since.UnixMicro())
		out, err = pgx.CollectRows(rows, func(r pgx.CollectableRow) (s quota.Spent, err error) {
			return s, r.Scan(&s.Pool, &s.Who.Purpose, &s.Who.Region, &s.Who.Method, &s.Who.Client, &s.Amount)
		})
		return err
	})
	if errors.Is(err, errAbsent) {
		return nil, nil
	}
	quota.SortSpent(out)
	return out, err
}
