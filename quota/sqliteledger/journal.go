package sqliteledger

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/trendvidstream/ingest/quota"
)

var _ quota.Journal = (*Ledger)(nil)

// Allow implements quota.Journal. It counts what lies after the budget's start, the future included:
// a clock that was set back must not open the budget again.
func (l *Ledger) Allow(ctx context.Context, e quota.Emergency, budgets []quota.Budget) (ok bool, err error) {
	amounts, err := json.Marshal(e.Amounts)
	if err != nil {
		return false, fmt.Errorf("encode the amounts: %w", err)
	}
	err = l.write(ctx, func(t *transaction) error {
		for _, b := range budgets {
			var used int64
			err := t.conn.QueryRowContext(t.ctx, `
				SELECT coalesce(sum(json_extract(amounts, '$."' || ?1 || '"')), 0) FROM emergencies
				WHERE account = ?2 AND at > ?3`,
				b.Pool, e.Account, quota.Micros(e.At.Add(-b.Within))).Scan(&used)
			if err != nil {
				return l.broken("read", err)
			}
			if used+e.Amounts[b.Pool] > b.Amount {
				return nil
			}
		}
		ok = true
		_, err := t.conn.ExecContext(t.ctx, `
			INSERT INTO emergencies (account, at, purpose, region, method, amounts) VALUES (?, ?, ?, ?, ?, ?)`,
			e.Account, quota.Micros(e.At), e.Who.Purpose, e.Who.Region, e.Who.Method, string(amounts))
		if err != nil {
			return l.broken("write", err)
		}
		return nil
	})
	return ok && err == nil, err
}

// Unposted implements quota.Journal.
func (l *Ledger) Unposted(ctx context.Context, account string) (out []quota.Emergency, err error) {
	err = l.read(ctx, func(t *transaction) error {
		rows, err := t.sql.unposted.QueryContext(t.ctx, account)
		if err != nil {
			return l.broken("read", err)
		}
		defer func() { _ = rows.Close() }()
		for rows.Next() {
			e := quota.Emergency{Account: account}
			var at int64
			var amounts string
			if err := rows.Scan(&e.ID, &at, &e.Who.Purpose, &e.Who.Region, &e.Who.Method, &amounts); err != nil {
				return l.broken("read", err)
			}
			if err := json.Unmarshal([]byte(amounts), &e.Amounts); err != nil {
				return fmt.Errorf("%w: %s: emergency %d: %w", quota.ErrCorrupt, l.path, e.ID, err)
			}
			e.At = quota.FromMicros(at)
			out = append(out, e)
		}
		if err := rows.Err(); err != nil {
			return l.broken("read", err)
		}
		return nil
	})
	return out, err
}

// Posted implements quota.Journal.
func (l *Ledger) Posted(ctx context.Context, id int64) error {
	return l.write(ctx, func(t *transaction) error {
		if _, err := t.conn.ExecContext(t.ctx, `UPDATE emergencies SET posted = 1 WHERE id = ?`, id); err != nil {
			return l.broken("write", err)
		}
		forget := quota.Micros(l.Now().Add(-2 * quota.MaxWindow)) // no budget looks back that far
		if _, err := t.conn.ExecContext(t.ctx, `DELETE FROM emergencies WHERE posted AND at < ?`, forget); err != nil {
			return l.broken("write", err)
		}
		return nil
	})
}
