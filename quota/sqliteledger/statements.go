package sqliteledger

// The SQL of the ledger.
const (
	// An account, its pools, and the newest entry of each. The driver builds strings of each column's name and type
	// for every run: "" costs nothing, and an expression has no type.
	sqlAccount = `
		SELECT (SELECT writes FROM file) AS "", +a.id AS "", +a.horizon AS "",
		       EXISTS (SELECT 1 FROM operations WHERE account = ?1 AND writer = '' AND state = 2) OR
		       EXISTS (SELECT 1 FROM operations WHERE account = ?1 AND entered = 0 AND writer <> '') OR
		       EXISTS (SELECT 1 FROM journals WHERE account = ?1 AND snapshots <> entered) AS "",
		       +p.id AS "", +p.name AS "", +p.drained_until AS "", +p.drained_used AS "", +p.drained_by AS "",
		       +p.drained_at AS "", +p.probe AS "", +p.carried AS "", coalesce(e.at, 0) AS "", coalesce(e.number, 0) AS "",
		       coalesce(e.before + e.amount, 0) AS "", coalesce(e.amount, 0) AS "", coalesce(e.spender, 0) AS ""
		FROM accounts a
		JOIN pools p ON p.account = a.id
		LEFT JOIN entries e ON e.pool = p.id AND (e.at, e.number) = (
			SELECT at, number FROM entries WHERE pool = p.id ORDER BY at DESC, number DESC LIMIT 1)
		WHERE a.name = ?1`
	// The sum before time ?2 is in the first entry at ?2 or later. If it is below ?3, the last column is the time of
	// the entry at which the sum reaches ?3: sums grow with time.
	sqlWindow = `
		SELECT +w.before AS "", +w.at AS "", CASE WHEN w.before < ?3 THEN (
			SELECT at FROM entries WHERE pool = ?1 AND before < ?3 ORDER BY before DESC LIMIT 1) ELSE 0 END AS ""
		FROM entries w WHERE w.pool = ?1 AND w.at >= ?2 ORDER BY w.at, w.number LIMIT 1`
	sqlEntry = `SELECT amount FROM entries WHERE pool = ? AND at = ? AND number = ?`
	// A spender's last post, of amount ?3 and time ?4 unless these are 0.
	sqlPosted = `SELECT at, number, amount FROM entries
		WHERE pool = ?1 AND spender = ?2 AND amount > 0 AND ?3 IN (0, amount) AND ?4 IN (0, at) ORDER BY number DESC, at DESC
			LIMIT 1`
	// The next number, for an entry before the newest.
	sqlNext   = `SELECT coalesce(max(number), 0) + 1 FROM entries WHERE pool = ?`
	sqlInsert = `INSERT INTO entries (pool, at, number, before, amount, spender) VALUES (?, ?, ?, ?, ?, ?)`
	// The ?3 oldest entries up to a time, but never the newest.
	sqlForget = `DELETE FROM entries WHERE (pool, at, number) IN (
		SELECT pool, at, number FROM entries WHERE pool = ?1 AND at <= ?2 AND (at, number) < (
			SELECT at, number FROM entries WHERE pool = ?1 ORDER BY at DESC, number DESC LIMIT 1)
		ORDER BY at, number LIMIT ?3)`
	sqlBehind = `UPDATE pools SET behind = ? WHERE id = ?`
	sqlRaise  = `UPDATE entries SET at = ?, amount = amount + ? WHERE pool = ? AND at = ? AND number = ?`
	sqlRemove = `DELETE FROM entries WHERE pool = ? AND at = ? AND number = ?`
	sqlShift  = `UPDATE entries SET before = before + ?1 WHERE pool = ?2 AND (at, number) > (?3, ?4)`
	sqlOldest = `SELECT before FROM entries WHERE pool = ? ORDER BY at, number LIMIT 1`
	sqlRebase = `UPDATE entries SET before = before - ? WHERE pool = ?`

	sqlKeepAccount = `INSERT INTO accounts (name, horizon) VALUES (?, ?)
		ON CONFLICT (name) DO UPDATE SET horizon = max(horizon, excluded.horizon) RETURNING id, horizon`
	sqlKeepPool    = `INSERT INTO pools (account, name) VALUES (?, ?) RETURNING id`
	sqlKeepSpender = `INSERT INTO spenders (purpose, region, method, client) VALUES (?, ?, ?, ?)
		ON CONFLICT DO UPDATE SET method = method RETURNING id`
	sqlSpenders = `SELECT id, purpose, region, method, client FROM spenders`
	sqlDrain    = `UPDATE pools SET drained_until = ?2, drained_used = ?3, drained_by = ?4, drained_at = ?5, probe = ?6
		WHERE id = ?1`

	// Moves entries after ?1 to ?2, or to their pool's newest entry up to ?1 if that is later, after all others and in
	// order.
	sqlMoveBack = `
		UPDATE entries SET number = ahead.place,
			at = max(?2, coalesce((SELECT max(at) FROM entries stay WHERE stay.pool = entries.pool AND stay.at <= ?1), 0))
		FROM (
			SELECT pool, at, number, row_number() OVER (PARTITION BY pool ORDER BY at, number) +
				(SELECT max(number) FROM entries highest WHERE highest.pool = e.pool) AS place
			FROM entries e WHERE at > ?1) ahead
		WHERE entries.pool = ahead.pool AND entries.at = ahead.at AND entries.number = ahead.number`
	// Drains by the provider that end after a time.
	sqlLiftAhead = `UPDATE pools SET drained_until = 0, drained_used = 0, drained_by = 0, drained_at = 0, probe = 0
		WHERE drained_by = 0 AND drained_until > ?`

	// Among the two oldest accounts and two from a random one on, those neither drained nor with an entry within their
	// horizon.
	sqlIdle = `
		SELECT a.id FROM (
			SELECT * FROM (SELECT id, horizon FROM accounts ORDER BY id LIMIT 2)
			UNION
			SELECT * FROM (SELECT id, horizon FROM accounts
				WHERE id >= (SELECT abs(random() % max(id)) FROM accounts) ORDER BY id LIMIT 2)) a
		WHERE a.id <> ?2 AND NOT EXISTS (
			SELECT 1 FROM pools p WHERE p.account = a.id AND (p.drained_until > ?1 OR EXISTS (
				SELECT 1 FROM entries e WHERE e.pool = p.id AND e.at > ?1 - a.horizon)))`
	// Deletes only the oldest of many entries at a time.
	sqlDropEntries = `DELETE FROM entries WHERE (pool, at, number) IN (
		SELECT e.pool, e.at, e.number FROM pools p JOIN entries e ON e.pool = p.id WHERE p.account = ?1
		ORDER BY e.pool, e.at, e.number LIMIT ?2)`
	sqlDropPools   = `DELETE FROM pools WHERE account = ?1 AND NOT EXISTS (SELECT 1 FROM entries WHERE pool = pools.id)`
	sqlDropAccount = `DELETE FROM accounts WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM pools WHERE account = ?1)`

	// The other accounts that have spent of one of the pools ?3, a JSON array, since ?2.
	sqlOtherAccounts = `
		SELECT a.name FROM accounts a WHERE a.name <> ?1 AND EXISTS (
			SELECT 1 FROM pools p JOIN entries e ON e.pool = p.id AND e.at >= ?2
			WHERE p.account = a.id AND p.name IN (SELECT value FROM json_each(?3)))
		UNION
		SELECT j.account FROM journals j WHERE j.account <> ?1 AND EXISTS (
			SELECT 1 FROM operations o, json_each(o.amounts) amount
			WHERE o.account = j.account AND o.at >= ?2 AND o.state NOT IN (4, 5)
				AND amount.key IN (SELECT value FROM json_each(?3)))
		ORDER BY 1`
	// The sums of an account since ?2, in parts of ?3, including operations that this ledger has still to enter.
	sqlSpent = `
		WITH charges (pool, spender, part, amount) AS (
			SELECT p.name, e.spender, coalesce((e.at - ?2) / ?3, 0) AS part, sum(e.amount) -- a day has thousands
			FROM accounts a JOIN pools p ON p.account = a.id JOIN entries e ON e.pool = p.id AND e.at >= ?2
			WHERE a.name = ?1 GROUP BY e.pool, e.spender, part
			UNION ALL
			SELECT amount.key, o.spender, coalesce((o.at - ?2) / ?3, 0), amount.value
			FROM operations o, json_each(o.amounts) amount
			WHERE o.account = ?1 AND o.at >= ?2 AND
				(o.writer = '' AND o.state = 2 OR o.writer <> '' AND o.entered = 0 AND o.state < 4)
		)
		SELECT c.pool, s.purpose, s.region, s.method, s.client, c.part, sum(c.amount)
		FROM charges c JOIN spenders s ON s.id = c.spender
		GROUP BY c.pool, s.id, c.part HAVING sum(c.amount) > 0`

	sqlWrites = `SELECT +writes AS "" FROM file`
	sqlWrote  = `UPDATE file SET writes = ?`
	// How many entries do not continue the sum of the entry before.
	sqlGaps = `SELECT count(*) FROM (
		SELECT before - lag(before + amount) OVER (PARTITION BY pool ORDER BY at, number) AS gap FROM entries) WHERE gap <> 0`
	// The missing amounts before entries of an account, and the times of these entries.
	sqlGapsOf = `SELECT name, at, gap FROM (
		SELECT p.name, e.at, e.before - lag(e.before + e.amount) OVER (PARTITION BY e.pool ORDER BY e.at, e.number) AS gap
		FROM pools p JOIN entries e ON e.pool = p.id WHERE p.account = ?) WHERE gap > 0`
	sqlSum = `UPDATE entries SET before = summed.before FROM (
			SELECT e.pool, e.at, e.number, sum(e.amount) OVER (PARTITION BY e.pool ORDER BY e.at, e.number) - e.amount AS before
			FROM pools p JOIN entries e ON e.pool = p.id WHERE p.account = ?) summed
		WHERE entries.pool = summed.pool AND entries.at = summed.at AND entries.number = summed.number`
)

// The entries of an account, as far back as its horizon, that the journal lacks.
const uncarried = `
	FROM accounts a JOIN pools p ON p.account = a.id JOIN entries e ON e.pool = p.id
	WHERE a.name = ?1 AND e.number > p.carried AND e.amount > 0 AND e.at > ?2 - a.horizon`

// The columns that transaction.operations reads.
const operation = `SELECT id, writer, number, nonce, at, spender, amounts, state, emergency, synced FROM operations`

// The SQL of the journal.
const (
	// The state of an account whose ledger is elsewhere.
	sqlJournal = `
		SELECT +f.writes AS "", +f.host AS "", coalesce(j.generation, 0) AS "", coalesce(j.breaker_until, 0) AS "",
		       coalesce(j.failures, 0) AS "", coalesce(j.why, '') AS "",
		       coalesce(j.snapshots, '[]') AS "", coalesce(j.hosts, '[]') AS "",
		       EXISTS (SELECT 1 FROM operations WHERE account = ?1 AND state = 2 AND writer <> '') OR
		       EXISTS (SELECT 1 FROM operations WHERE account = ?1 AND state = 5) OR
		       EXISTS (SELECT 1 FROM accounts a JOIN pools p ON p.account = a.id JOIN entries e ON e.pool = p.id
		           AND (e.at, e.number) = (
				SELECT at, number FROM entries WHERE pool = p.id ORDER BY at DESC, number DESC LIMIT 1)
			WHERE a.name = ?1 AND (p.behind > p.carried OR e.number > p.carried AND e.amount > 0
				AND e.at > ?2 - a.horizon)) AS "", -- the log here was charged
		       EXISTS (SELECT 1 FROM operations WHERE account = ?1 AND state IN (1, 3) AND writer <> '') AS ""
		FROM file f
		LEFT JOIN journals j ON j.account = ?1`
	// The newest operation of each of up to ?2 writers that the ledger has. It goes from name to name, since each has
	// thousands of operations.
	sqlWritten = `
		WITH RECURSIVE writers (name, place) AS (
			SELECT max(writer), 1 FROM operations WHERE account = ?1 AND state IN (1, 3) AND writer <> ''
			UNION ALL
			SELECT (SELECT max(writer) FROM operations WHERE account = ?1 AND state IN (1, 3) AND writer <> ''
				AND writer < name), place + 1
			FROM writers WHERE name IS NOT NULL AND place < ?2
		)
		SELECT name, number, at FROM writers JOIN operations ON id = (
			SELECT id FROM operations WHERE account = ?1 AND state IN (1, 3) AND writer <> '' AND writer = name
				ORDER BY number DESC LIMIT 1)
		ORDER BY place`
	sqlKeepJournal = `INSERT INTO journals (account, generation, breaker_until, failures, why, snapshots, hosts)
		VALUES (?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT DO UPDATE SET generation = excluded.generation, breaker_until = excluded.breaker_until,
			failures = excluded.failures, why = excluded.why, snapshots = excluded.snapshots, hosts = excluded.hosts`

	sqlBegin = `INSERT INTO operations (account, writer, number, nonce, at, spender, amounts, state, emergency)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`
	// A late verdict "charged" does not change an operation that is synced or still to be synced.
	sqlJudge = `UPDATE operations SET state = ?2, at = coalesce(nullif(?3, 0), at)
		WHERE id = ?1 AND NOT (?2 = 1 AND state IN (2, 3))`
	// An emergency that no sync has noted yet.
	sqlRefundEmergency = `UPDATE operations SET state = 4 WHERE account = ?1 AND id = ?2 AND state = 2 AND emergency`
	// For a row that was synced into generation ?2 at ?3, after ?4: adds this sync to the row's last syncs. If another
	// process has noted ?2 before, it has noted the row as well.
	sqlNoteSync = `UPDATE operations SET state = 3, synced = CASE WHEN state IN (1, 3)
			THEN CASE WHEN length(synced) > 150 THEN substr(synced, instr(synced, ';') + 1)
				ELSE coalesce(nullif(synced, ''), 0) END || '/' || ?4 || ';' || ?3
			ELSE ?3 || '' END
		WHERE id = ?1 AND NOT (state = 3 AND EXISTS (
			SELECT 1 FROM journals WHERE account = operations.account AND generation = ?2))`
	sqlForgetOperations = `DELETE FROM operations WHERE id IN (
		SELECT id FROM operations
		WHERE account = ?1 AND at < ?2 AND state <> 2 AND id < (SELECT max(id) FROM operations)
		ORDER BY at LIMIT ?3)`

	// Nearly all rows: reading them in table order is faster than by the index on time.
	sqlRows     = operation + ` NOT INDEXED WHERE account = ?1 AND at >= ?2 AND state <> 4 AND writer <> '' ORDER BY id`
	sqlAsked    = operation + ` WHERE account = ?1 AND state = 0 AND writer <> '' ORDER BY id DESC LIMIT ?2`
	sqlRowsOwed = operation + ` WHERE account = ?1 AND (state = 2 OR state = 5) AND writer <> '' ORDER BY id`
	sqlOwedHere = operation + ` WHERE account = ?1 AND writer = '' AND state = 2 ORDER BY id`

	// The operations of a ledger elsewhere that the log in this file lacks.
	sqlElsewhere = operation + ` WHERE account = ?1 AND entered = 0 AND writer <> '' AND state < 4 ORDER BY at, id`
	// Marks them, and the snapshots, as entered.
	sqlEntered       = `UPDATE operations SET entered = 1 WHERE account = ?1 AND entered = 0 AND writer <> ''`
	sqlEnteredSeen   = `UPDATE journals SET entered = snapshots WHERE account = ?1 AND entered <> snapshots`
	sqlUnenteredSeen = `SELECT count(*) FROM journals WHERE account = ?1 AND entered <> snapshots`
	// The charges of a pool without a known spender, of purpose ?2, until ?3.
	sqlUnattributed = `SELECT at, amount FROM entries WHERE pool = ?1 AND at <= ?3 AND amount > 0
		AND spender IN (SELECT id FROM spenders WHERE purpose = ?2)`
	// Whether an entry of the account is not in the journal, and the copy of all of them, as operations of writer ?3
	// for other ledgers to sync.
	sqlUncarried = `SELECT EXISTS (SELECT 1` + uncarried + `)`
	sqlCarry     = `INSERT INTO operations (account, writer, number, nonce, at, spender, amounts, state,
			emergency, entered)
		SELECT ?1, ?3, row_number() OVER (ORDER BY e.at, e.number, p.id), 1, e.at, e.spender, json_object(p.name, e.amount),
			2, 0, 1` + uncarried
	sqlCarried = `UPDATE pools SET carried = max(carried, coalesce((SELECT max(number)
			FROM entries WHERE pool = pools.id), 0))
		WHERE account = (SELECT id FROM accounts WHERE name = ?)`
	// The accounts whose entries were copied.
	sqlCarriedAccounts = `SELECT DISTINCT a.name FROM accounts a JOIN pools p ON p.account = a.id WHERE p.carried > 0`
	// Grouped, since most emergencies cost the same.
	sqlEmergencies = `SELECT amounts, count(*) FROM operations
		WHERE account = ?1 AND at >= ?2 AND emergency AND state <> 4 AND (at <= ?3 OR seen = 0 OR seen >= ?2)
			GROUP BY amounts`
	// An emergency in the future comes from a clock that was ahead, or is read by one that was set back. Either way it
	// counts until a window has passed since it was first seen there.
	sqlSeeAhead = `UPDATE operations SET seen = ?2 WHERE account = ?1 AND at > ?2 AND emergency AND seen = 0`
)
