package sqliteledger

// forgetAtMost is how many entries one round deletes: it costs less than the charges between two rounds do, holds
// nobody up, and catches up with what has piled up.
const forgetAtMost = 256

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
	var idle []int64
	err := t.each(idleAccounts, []any{t.ledger.Now().UnixMicro(), except}, func(r *rows) error {
		idle = append(idle, 0)
		return r.scan(&idle[len(idle)-1])
	})
	if err != nil {
		return err
	}
	for _, id := range idle {
		if err := t.drop(id); err != nil {
			return err
		}
	}
	return nil
}

// drop deletes an account with all it has; of one with many entries the oldest, and the rest another time.
func (t *transaction) drop(id int64) error {
	for _, text := range []string{
		`DELETE FROM entries WHERE (pool, at, number) IN (
			SELECT e.pool, e.at, e.number FROM pools p JOIN entries e ON e.pool = p.id WHERE p.account = ?1
			ORDER BY e.pool, e.at, e.number LIMIT ?2)`,
		`DELETE FROM pools WHERE account = ?1 AND NOT EXISTS (SELECT 1 FROM entries WHERE pool = pools.id) AND ?2`,
		`DELETE FROM accounts WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM pools WHERE account = ?1) AND ?2`,
	} {
		if err := t.execText(text, id, forgetAtMost); err != nil {
			return err
		}
	}
	return nil
}
