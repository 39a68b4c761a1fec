package sqliteledger

import "github.com/trendvidstream/ingest/quota"

// someAccounts are a few accounts, from a random one on, and whether each is idle: undrained, and
// its newest entry (all others are older) beyond the horizon.
const someAccounts = `
	SELECT a.id, NOT EXISTS (
		SELECT 1 FROM pools p WHERE p.account = a.id AND (p.drained_until > ?1 OR EXISTS (
			SELECT 1 FROM entries e WHERE e.pool = p.id AND e.at > ?1 - a.horizon)))
	FROM accounts a
	WHERE a.id >= (SELECT abs(random() % (max(id) + 1)) FROM accounts) AND a.id <> ?2
	ORDER BY a.id LIMIT 4`

// forgetIdle deletes an idle account or two. It is called for every new account, so that those used
// only once do not pile up.
func (t *transaction) forgetIdle(except int64) error {
	rows, err := t.db.QueryContext(t.ctx, someAccounts, quota.Micros(t.ledger.Now()), except)
	if err != nil {
		return t.ledger.broken("read", err)
	}
	defer func() { _ = rows.Close() }()
	var idle []int64
	for rows.Next() {
		var id int64
		var is bool
		if err := rows.Scan(&id, &is); err != nil {
			return t.ledger.broken("read", err)
		}
		if is {
			idle = append(idle, id)
		}
	}
	if err := rows.Err(); err != nil {
		return t.ledger.broken("read", err)
	}
	for _, id := range idle {
		for _, text := range []string{
			`DELETE FROM entries WHERE pool IN (SELECT id FROM pools WHERE account = ?)`,
			`DELETE FROM pools WHERE account = ?`,
			`DELETE FROM accounts WHERE id = ?`,
		} {
			if _, err := t.db.ExecContext(t.ctx, text, id); err != nil {
				return t.ledger.broken("write", err)
			}
		}
	}
	return nil
}
