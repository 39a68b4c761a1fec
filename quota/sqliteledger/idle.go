package sqliteledger

import (
	"cmp"
	"database/sql"
)

// forgetAtMost is how many entries one round deletes: it costs less than the charges between two rounds do, holds
// nobody up, and catches up with what has piled up.
const forgetAtMost = 256

// forgetIdle deletes an idle account or two. It is called for every new account, so that those used
// only once do not pile up.
func (t *transaction) forgetIdle(except int64) error {
	var idle []int64
	err := t.read(sqlIdle, []any{t.ledger.Now().UnixMicro(), except}, func(r *sql.Rows) error {
		idle = append(idle, 0)
		return r.Scan(&idle[len(idle)-1])
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
	return cmp.Or(t.run(sqlDropEntries, id, forgetAtMost), t.run(sqlDropPools, id), t.run(sqlDropAccount, id))
}
