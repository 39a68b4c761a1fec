package sqliteledger

import (
	"context"

	"github.com/trendvidstream/ingest/quota"
)

// Empty reports whether nothing was ever charged to the account in this file, or all of it is
// forgotten.
func (l *Ledger) Empty(ctx context.Context, account string) (empty bool, err error) {
	err = l.read(ctx, func(t *transaction) error {
		acc, err := t.account(account)
		if err != nil {
			return err
		}
		empty = true
		for _, p := range acc.pools {
			empty = empty && p.newest.at == 0
		}
		return nil
	})
	return empty, err
}

// Adopt makes the account from the account to, in one step: what to had is gone. A log that is made
// anew is made under another name, so that half of it never counts as all.
func (l *Ledger) Adopt(ctx context.Context, from, to string) error {
	return l.write(ctx, func(t *transaction) error {
		for _, name := range []string{from, to} {
			if err := quota.CheckAccount(name); err != nil {
				return err
			}
		}
		old, err := t.account(to)
		if err != nil {
			return err
		}
		if old.id != 0 {
			if err := t.drop(old.id); err != nil {
				return err
			}
		}
		if _, err := t.conn.ExecContext(t.ctx, `UPDATE accounts SET name = ? WHERE name = ?`, to, from); err != nil {
			return l.broken("write", err)
		}
		return nil
	})
}
