package sqliteledger

// idleAccounts are those of the two oldest accounts, and of two from a random one on, that are
// neither drained nor have an entry within their horizon.
const idleAccounts = `
	SELECT a.id FROM (
		SELECT * FROM (SELECT id, horizon FROM accounts ORDER BY id LIMIT 2)
		UNION
		SELECT * FROM (SELECT id, horizon FROM accounts
			WHERE id >= (SELECT abs(random() % max(id)) FROM accounts) ORDER BY id LIMIT 2)) a
	WHERE a.id <> ?2 AND NOT EXISTS (
		SELECT 1 FROM pools p WHERE p.account = a.id AND (p.drained_until > ?1 OR EXISTS (
			SELECT 1 FROM entries e WHERE e.pool = p.id AND e.at > ?1 - a.horizon)))`

// forgetIdle deletes an idle account or two. It is called for every new account, so that those used
// only once do not pile up.
func (t *transaction) forgetIdle(except int64) error {
	rows, err := t.conn.QueryContext(t.ctx, idleAccounts, t.ledger.Now().UnixMicro(), except)
	if err != nil {
		return t.ledger.broken("read", err)
	}
	defer func() { _ = rows.Close() }()
	var idle []int64
	for rows.Next() {
		var id int64
		if err := rows.Scan(&id); err != nil {
			return t.ledger.broken("read", err)
		}
		idle = append(idle, id)
	}
	if err := rows.Err(); err != nil {
		return t.ledger.broken("read", err)
	}
	for _, id := range idle {
		if err := t.drop(id); err != nil {
			return err
		}
	}
	return nil
}

// drop deletes an account with all it has.
func (t *transaction) drop(id int64) error {
	for _, text := range []string{
		`DELETE FROM entries WHERE pool IN (SELECT id FROM pools WHERE account = ?)`,
		`DELETE FROM pools WHERE account = ?`,
		`DELETE FROM accounts WHERE id = ?`,
	} {
		if err := t.execText(text, id); err != nil {
			return err
		}
	}
	return nil
}
