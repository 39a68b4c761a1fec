package sqliteledger

// statements are the SQL of everything that is done often, prepared once for the writer and once for
// the readers.
type statements struct {
	account, before, entry, next          *stmt
	insert, forget, raise, shift, remove  *stmt
	keepAccount, keepPool, keepWho, drain *stmt
	wrote                                 *stmt

	journal, keepJournal                              *stmt
	begin, judge, judgeMany, noteSync, owe, forgetOps *stmt
	rows, rowsOwed, asked, owedHere, who, emergencies *stmt
}

func (s *statements) prepare(c *conn) (err error) {
	for _, texts := range []map[**stmt]string{s.ofLedger(), s.ofJournal()} {
		for into, text := range texts {
			if *into, err = c.prepare(text); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *statements) ofLedger() map[**stmt]string {
	return map[**stmt]string{
		// An account, its pools, and the newest entry of each. The driver makes strings of the name and the type of
		// every column, each time: an expression has no type, and "" costs nothing.
		&s.account: `
			SELECT +a.id AS "", +a.horizon AS "",
			       EXISTS (SELECT 1 FROM operations WHERE account = ?1 AND writer = '' AND state = 2) AS "",
			       +p.id AS "", +p.name AS "", +p.drained_until AS "", +p.drained_used AS "", +p.drained_by AS "", +p.drained_at AS "", +p.probe AS "",
			       coalesce(e.at, 0) AS "", coalesce(e.number, 0) AS "", coalesce(e.before + e.amount, 0) AS "",
			       coalesce(e.amount, 0) AS "", coalesce(e.spender, 0) AS ""
			FROM accounts a
			JOIN pools p ON p.account = a.id
			LEFT JOIN entries e ON e.pool = p.id AND (e.at, e.number) = (
				SELECT at, number FROM entries WHERE pool = p.id ORDER BY at DESC, number DESC LIMIT 1)
			WHERE a.name = ?1`,
		// The sum before time ?2 stands in the first entry at or after it.
		&s.before: `SELECT +before AS "", +at AS "" FROM entries WHERE pool = ? AND at >= ? ORDER BY at, number LIMIT 1`,
		// The next number within a microsecond.
		&s.next:  `SELECT coalesce(max(number), 0) + 1 FROM entries WHERE pool = ? AND at = ?`,
		&s.entry: `SELECT amount FROM entries WHERE pool = ? AND at = ? AND number = ?`,

		&s.insert: `INSERT INTO entries (pool, at, number, before, amount, spender) VALUES (?, ?, ?, ?, ?, ?)`,
		// So many of the oldest, of those up to a time: never the newest.
		&s.forget: `DELETE FROM entries WHERE (pool, at, number) IN (
			SELECT pool, at, number FROM entries WHERE pool = ?1 AND at <= ?2 AND (at, number) < (
				SELECT at, number FROM entries WHERE pool = ?1 ORDER BY at DESC, number DESC LIMIT 1)
			ORDER BY at, number LIMIT ?3)`,
		&s.raise:  `UPDATE entries SET at = ?, amount = amount + ? WHERE pool = ? AND at = ? AND number = ?`,
		&s.remove: `DELETE FROM entries WHERE pool = ? AND at = ? AND number = ?`,
		&s.shift:  `UPDATE entries SET before = before + ?1 WHERE pool = ?2 AND (at, number) > (?3, ?4)`,

		&s.keepAccount: `INSERT INTO accounts (name, horizon) VALUES (?, ?)
			ON CONFLICT (name) DO UPDATE SET horizon = max(horizon, excluded.horizon) RETURNING id, horizon`,
		&s.keepPool: `INSERT INTO pools (account, name) VALUES (?, ?) RETURNING id`,
		&s.keepWho: `INSERT INTO spenders (purpose, region, method) VALUES (?, ?, ?)
			ON CONFLICT DO UPDATE SET method = method RETURNING id`,
		&s.drain: `UPDATE pools SET drained_until = ?2, drained_used = ?3, drained_by = ?4, drained_at = ?5, probe = ?6
			WHERE id = ?1 AND (?2 = 0 OR ?2 > drained_until)`,
		// The file's own count.
		&s.wrote: `UPDATE file SET writes = writes + 1 RETURNING writes`,
	}
}

// operation is what an operation is read as; see transaction.operations.
const operation = `SELECT id, writer, number, nonce, at, spender, amounts, state, emergency, synced FROM operations`

func (s *statements) ofJournal() map[**stmt]string {
	return map[**stmt]string{
		// What is known of an account, and the newest operation that its ledger elsewhere has.
		&s.journal: `
			SELECT +f.host AS "", coalesce(j.generation, 0) AS "", coalesce(j.breaker_until, 0) AS "", coalesce(j.failures, 0) AS "",
			       coalesce(j.why, '') AS "", coalesce(j.snapshots, '[]') AS "", coalesce(j.hosts, '[]') AS "",
			       EXISTS (SELECT 1 FROM operations WHERE account = ?1 AND state = 2 AND writer <> '') OR
			       EXISTS (SELECT 1 FROM operations WHERE account = ?1 AND state = 5) AS "",
			       coalesce(o.id, 0) AS "", coalesce(o.writer, '') AS "", coalesce(o.number, 0) AS "", coalesce(o.nonce, 0) AS "",
			       coalesce(o.at, 0) AS "", coalesce(s.purpose, '') AS "", coalesce(s.region, '') AS "", coalesce(s.method, '') AS "",
			       coalesce(o.amounts, '') AS "", coalesce(o.state, 0) AS "", coalesce(o.emergency, 0) AS "", coalesce(o.synced, '') AS ""
			FROM file f
			LEFT JOIN journals j ON j.account = ?1
			LEFT JOIN operations o ON o.id = (SELECT max(id) FROM operations WHERE account = ?1 AND state IN (1, 3) AND writer <> '')
			LEFT JOIN spenders s ON s.id = o.spender`,
		&s.keepJournal: `INSERT INTO journals (account, generation, breaker_until, failures, why, snapshots, hosts) VALUES (?, ?, ?, ?, ?, ?, ?)
			ON CONFLICT DO UPDATE SET generation = excluded.generation, breaker_until = excluded.breaker_until,
				failures = excluded.failures, why = excluded.why, snapshots = excluded.snapshots, hosts = excluded.hosts`,

		&s.begin: `INSERT INTO operations (account, writer, number, nonce, at, spender, amounts, state, emergency)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		// That it was charged is no news about an operation that is owed or synced.
		&s.judge: `UPDATE operations SET state = ?2, at = ?3
			WHERE id = ?1 AND NOT (?2 = 1 AND state IN (2, 3))`,
		// The same of an array of ids. The time is left alone, and with it the index by time.
		&s.judgeMany: `UPDATE operations SET state = ?2
			WHERE id IN (SELECT value FROM json_each(?1)) AND NOT (?2 = 1 AND state IN (2, 3))`,
		// For rows that were synced into generation ?2 at ?3, after ?4: the last spans in which a remote had them are
		// kept with them. If another process has noted ?2 before, it has noted them as well.
		&s.noteSync: `UPDATE operations SET state = 3, synced = CASE WHEN state IN (1, 3)
				THEN CASE WHEN length(synced) > 150 THEN substr(synced, instr(synced, ';') + 1) ELSE synced END || '/' || ?4 || ';' || ?3
				ELSE ?3 || '' END
			WHERE id IN (SELECT value FROM json_each(?1)) AND NOT (state = 3 AND EXISTS (
				SELECT 1 FROM journals WHERE account = operations.account AND generation = ?2))`,
		&s.owe: `UPDATE operations SET state = 2, emergency = 1, at = ?2 WHERE id = ?1 RETURNING id`,
		&s.forgetOps: `DELETE FROM operations WHERE id IN (
			SELECT id FROM operations
			WHERE account = ?1 AND at < ?2 AND state <> 2 AND id < (SELECT max(id) FROM operations)
			ORDER BY at LIMIT ?3)`,

		// Nearly all there are: in the order of the table, without a detour over the index by time.
		&s.rows:     operation + ` NOT INDEXED WHERE account = ?1 AND at >= ?2 AND state <> 4 AND writer <> '' ORDER BY id`,
		&s.asked:    operation + ` WHERE account = ?1 AND state = 0 AND writer <> '' ORDER BY id DESC LIMIT ?2`,
		&s.rowsOwed: operation + ` WHERE account = ?1 AND (state = 2 OR state = 5) AND writer <> '' ORDER BY id`,
		&s.owedHere: operation + ` WHERE account = ?1 AND writer = '' AND state = 2 ORDER BY id`,
		&s.who:      `SELECT id, purpose, region, method FROM spenders`,
		// Most emergencies cost the same: what they cost is read once.
		&s.emergencies: `SELECT amounts, count(*) FROM operations
			WHERE account = ?1 AND at >= ?2 AND emergency AND state <> 4 AND id <> ?3 GROUP BY amounts`,
	}
}
