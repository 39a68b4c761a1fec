package sqliteledger

import (
	"context"
	"database/sql"

	"github.com/trendvidstream/ingest/quota"
)

// A clock that was ahead leaves entries in the future, before which the ledger decides nothing, and drains that end when
// it would have been right.

// longestDrain is how long the provider's no holds at most: its day has 25 hours, and a grace.
const longestDrain = quota.MinHorizon

// MoveBack moves what lies in the future to now, where it counts: what was spent under a clock that was ahead was spent
// by now. A no of the provider that ends later than any day goes. It returns how many entries and drains that were; what
// is ahead by no more than quota.MaxClockGap stays.
func (l *Ledger) MoveBack(ctx context.Context) (moved int, err error) {
	err = l.write(ctx, func(t *transaction) error {
		now := l.Now()
		trusted := now.Add(quota.MaxClockGap).UnixMicro()
		ahead, err := t.entriesAfter(trusted)
		if err != nil {
			return err
		}
		if len(ahead) > 0 {
			if err := t.run(sqlDropAfter, trusted); err != nil {
				return err
			}
		}
		for i, e := range ahead {
			number := e.highest + int64(i) + 1 // behind all that stay, and in their order
			if err := t.run(sqlInsert, e.pool, max(now.UnixMicro(), e.newest), number, e.before, e.amount, e.spender); err != nil {
				return err
			}
		}
		drains, err := t.exec(sqlLiftAhead, now.Add(longestDrain).UnixMicro())
		if err != nil {
			return l.explain("write", err)
		}
		lifted, err := drains.RowsAffected()
		moved, t.changed = len(ahead)+int(lifted), t.changed || lifted > 0
		return err
	})
	return moved, err
}

// aheadEntry is an entry in the future, and of its pool the time of the newest entry that is not, and the highest number.
type aheadEntry struct{ pool, before, amount, spender, newest, highest int64 }

// entriesAfter returns the entries of all pools after a time, in the order of their logs.
func (t *transaction) entriesAfter(after int64) (out []aheadEntry, err error) {
	err = t.read(sqlAfter, []any{after}, func(rows *sql.Rows) error {
		var e aheadEntry
		err := rows.Scan(&e.pool, &e.before, &e.amount, &e.spender, &e.newest, &e.highest)
		out = append(out, e)
		return err
	})
	return out, err
}
